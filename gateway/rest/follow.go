package rest

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// eventStream is the media type of Server-Sent Events.
const eventStream = "text/event-stream"

// makesTurn reports whether an RPC returns a turn that has just been accepted.
func makesTurn(rpc string) bool {
	return rpc == sessionsv1.TurnService_CreateTurn_FullMethodName || rpc == sessionsv1.TurnService_RerunTurn_FullMethodName
}

// canFollow reports whether an RPC creates a turn whose events may be its response.
func canFollow(rpc string) bool {
	return makesTurn(rpc) || rpc == sessionsv1.TurnService_Chat_FullMethodName
}

type followedKey struct{}

// skipWait makes a chat call return as soon as its turn is accepted if the response is the turn's events.
func skipWait(ctx context.Context, args any) {
	if chat, ok := args.(*sessionsv1.ChatRequest); ok && ctx.Value(followedKey{}) != nil {
		chat.Wait = durationpb.New(0)
	}
}

// lastEventID is the header with the cursor at which a stream resumes.
const lastEventID = "Last-Event-ID"

// Follower responds with the events of the turn that a request created. If there are none to send it calls instead, without having written
// anything.
type Follower func(w http.ResponseWriter, r *http.Request, turnID string, instead func())

// HandleAccepted registers f to respond to requests that create a turn if the caller prefers its events to the turn, which saves a second
// request. If check returns an error, no turn is created. Once a turn is created the response never denies it: without events the response
// is the turn itself.
func (a *API) HandleAccepted(check func(r *http.Request) error, f Follower) {
	a.followable, a.follow = check, f
}

// wantsEvents reports whether the caller accepts the media type of event streams, and names it before JSON.
func wantsEvents(h http.Header) bool {
	for _, line := range h.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			switch media, _, _ := mime.ParseMediaType(part); media {
			case eventStream:
				return true
			case "application/json":
				return false
			}
		}
	}
	return false
}

// serveFollowed calls a handler that creates a turn, and then the follower. Errors before the turn exists are returned as usual.
func (a *API) serveFollowed(w http.ResponseWriter, r *http.Request, call func(w http.ResponseWriter, resumes bool)) {
	if err := a.followable(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	held := &heldWriter{ResponseWriter: w}
	call(held, r.Header.Get(lastEventID) != "")
	if held.turn == "" {
		return
	}
	for _, name := range []string{"Content-Type", "Trailer", "Transfer-Encoding"} { // of the withheld response
		w.Header().Del(name)
	}
	a.follow(w, r, held.turn, func() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(held.body) // the caller may be gone
	})
}

type resumesKey struct{}

// withResumes marks a request that resumes the stream of an existing turn.
func withResumes(ctx context.Context, resumes bool) context.Context {
	if !resumes {
		return ctx
	}
	return context.WithValue(ctx, resumesKey{}, true)
}

// checkResumes rejects resuming a stream if that would create another turn.
func checkResumes(ctx context.Context, args any) error {
	if m, ok := args.(interface{ GetIdempotencyKey() string }); !ok || m.GetIdempotencyKey() != "" || ctx.Value(resumesKey{}) == nil {
		return nil
	}
	return fault.Invalid(KeyHeader, "must be given with %s", lastEventID).
		Hint("Without the key of the request that made the turn this one would make another. The turn's events are at the path that its " +
			"Location named, too.")
}

// heldWriter withholds the response once there is a turn.
type heldWriter struct {
	http.ResponseWriter
	turn string
	body []byte
}

// Unwrap implements the interface of http.ResponseController.
func (h *heldWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (h *heldWriter) WriteHeader(status int) {
	if h.turn == "" {
		h.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (h *heldWriter) Write(b []byte) (int, error) {
	if h.turn == "" {
		return h.ResponseWriter.Write(b)
	}
	h.body = append(h.body, b...)
	return len(b), nil
}

// setAccepted sets status 202 if work continues after the response, and records the turn if its events are the response.
func setAccepted(ctx context.Context, w http.ResponseWriter, m proto.Message) error {
	rpc, _ := runtime.RPCMethod(ctx)
	held, follows := w.(*heldWriter)
	id := ""
	switch m := m.(type) {
	case *sessionsv1.Turn:
		if makesTurn(rpc) {
			id = m.GetId()
		}
	case *sessionsv1.ChatResponse:
		if follows {
			id = m.GetTurnId()
		}
	}
	switch {
	case id == "":
		setCreated(ctx, rpc, w, m)
		return nil
	case follows:
		held.turn = id
	}
	w.Header().Set("Location", "/v1/turns/"+id)
	w.WriteHeader(http.StatusAccepted) // withheld if the events follow
	return nil
}
