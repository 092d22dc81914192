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

// makesTurn names the RPCs whose answer is a turn that has just been accepted.
func makesTurn(rpc string) bool {
	return rpc == sessionsv1.TurnService_CreateTurn_FullMethodName || rpc == sessionsv1.TurnService_RerunTurn_FullMethodName
}

// canFollow names the RPCs that make a turn whose events may be their answer.
func canFollow(rpc string) bool {
	return makesTurn(rpc) || rpc == sessionsv1.TurnService_Chat_FullMethodName
}

type followedKey struct{}

// hasten has a call that would wait for the turn's answer return as soon as the turn is accepted, where its events are the answer.
func hasten(ctx context.Context, args any) {
	if chat, ok := args.(*sessionsv1.ChatRequest); ok && ctx.Value(followedKey{}) != nil {
		chat.Wait = durationpb.New(0)
	}
}

// lastEventID is where a stream goes on that was cut.
const lastEventID = "Last-Event-ID"

// Follower answers a request that made a turn with the turn's events. Where it has none to show it calls instead, having written nothing.
type Follower func(w http.ResponseWriter, r *http.Request, turnID string, instead func())

// HandleAccepted has f answer requests that made a turn, where the caller would rather have its events than the turn: he saves a request,
// and the time until it is there. What check refuses makes no turn. A turn that is made is never answered as if it were not: without events
// the turn itself is the answer.
func (a *API) HandleAccepted(check func(r *http.Request) error, f Follower) {
	a.followable, a.follow = check, f
}

// wantsEvents reports whether the caller names the type of event streams, and not JSON before it.
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

// followed calls a handler that makes a turn, and then the one that shows its events. What goes wrong before there is a turn is answered as
// ever.
func (a *API) followed(w http.ResponseWriter, r *http.Request, call func(w http.ResponseWriter, resumes bool)) {
	if err := a.followable(r); err != nil {
		problem.Write(w, r, err)
		return
	}
	held := &heldWriter{ResponseWriter: w}
	call(held, r.Header.Get(lastEventID) != "")
	if held.turn == "" {
		return
	}
	for _, name := range []string{"Content-Type", "Trailer", "Transfer-Encoding"} { // of the answer that is kept back
		w.Header().Del(name)
	}
	a.follow(w, r, held.turn, func() {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(held.body) // who is gone needs no answer
	})
}

type resumesKey struct{}

// withResumes notes that a request goes on with the stream of a turn that was made before.
func withResumes(ctx context.Context, resumes bool) context.Context {
	if !resumes {
		return ctx
	}
	return context.WithValue(ctx, resumesKey{}, true)
}

// checkResumes refuses to go on with a stream where that would make another turn.
func checkResumes(ctx context.Context, args any) error {
	if m, ok := args.(interface{ GetIdempotencyKey() string }); !ok || m.GetIdempotencyKey() != "" || ctx.Value(resumesKey{}) == nil {
		return nil
	}
	return fault.Invalid(KeyHeader, "must be given with %s", lastEventID).
		Hint("Without the key of the request that made the turn this one would make another. The turn's events are at the path that its Location named, too.")
}

// heldWriter keeps the answer back once there is a turn.
type heldWriter struct {
	http.ResponseWriter
	turn string
	body []byte
}

// Unwrap is for http.ResponseController.
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
		return h.ResponseWriter.Write(b) //nolint:wrapcheck // a pass-through
	}
	h.body = append(h.body, b...)
	return len(b), nil
}

// accepted answers 202 where the work goes on after the answer, and tells of the turn where its events are the answer.
func accepted(ctx context.Context, w http.ResponseWriter, m proto.Message) error {
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
		return nil
	case follows:
		held.turn = id
	}
	w.Header().Set("Location", "/v1/turns/"+id)
	w.WriteHeader(http.StatusAccepted) // held back where the events follow
	return nil
}
