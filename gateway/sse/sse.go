// Package sse serves the events of turns and sessions, and domain events, as Server-Sent Events, over the Watch streams of the sessions
// service.
package sse

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// Config configures streams. Heartbeat and WriteTimeout are required.
type Config struct {
	// Heartbeat is how often an idle stream sends a comment.
	Heartbeat time.Duration
	// WriteTimeout is how long a reader may take to read what is sent; a slower one is disconnected and resumes by cursor.
	WriteTimeout time.Duration
	// Retry is how long an EventSource waits before it reconnects.
	Retry time.Duration `default:"1s"`
	// OpenTimeout is how long the sessions service may take to admit a watcher.
	OpenTimeout time.Duration `default:"15s"`
	// EndGrace is how long a resumed turn stream delays its status line, to find out whether the turn is over (204).
	EndGrace time.Duration `default:"500ms"`
}

// API is the part of the REST API that the streams use.
type API interface {
	// HandleAccepted registers a handler that responds with the events of a turn that a request created, unless check rejects the request.
	HandleAccepted(check func(r *http.Request) error, f rest.Follower)
	// Annotate returns the context for an upstream call.
	Annotate(ctx context.Context, r *http.Request, rpc string) (context.Context, error)
}

// Deps holds the dependencies of Streams; all of them are required.
type Deps struct {
	// API is where the handler of accepted turns is registered.
	API API
	// Sessions is the connection to watch over.
	Sessions grpc.ClientConnInterface
	// Log receives internal errors.
	Log *slog.Logger
	// Open is called for each stream that opens (+1) and closes (-1).
	Open func(ctx context.Context, change int64)
}

// Streams serves event streams until Drain.
type Streams struct {
	cfg       Config
	deps      Deps
	turns     sessionsv1.TurnServiceClient
	events    sessionsv1.EventServiceClient
	approvals sessionsv1.ApprovalServiceClient
	shares    sessionsv1.ShareServiceClient
	drain     context.Context // until Drain
	ended     context.CancelFunc
}

// Handler serves a stream; vars are the variables of the pattern at which API serves it.
type Handler = func(w http.ResponseWriter, r *http.Request, vars map[string]string)

// New returns the streams.
func New(cfg Config, deps Deps) (*Streams, error) {
	if deps.API == nil || deps.Sessions == nil || deps.Log == nil || deps.Open == nil {
		return nil, errors.New("sse needs API, Sessions, Log and Open")
	}
	config.Fill(&cfg)
	if cfg.Heartbeat <= 0 || cfg.WriteTimeout <= 0 || cfg.Retry <= 0 || cfg.OpenTimeout <= 0 || cfg.EndGrace <= 0 {
		return nil, errors.New("sse: all times must be more than 0")
	}
	s := &Streams{
		cfg: cfg, deps: deps, turns: sessionsv1.NewTurnServiceClient(deps.Sessions),
		events: sessionsv1.NewEventServiceClient(deps.Sessions), approvals: sessionsv1.NewApprovalServiceClient(deps.Sessions),
		shares: sessionsv1.NewShareServiceClient(deps.Sessions),
	}
	s.drain, s.ended = context.WithCancel(context.Background())
	check := func(r *http.Request) error {
		_, err := cursor(r, nil)
		return err
	}
	deps.API.HandleAccepted(check, func(w http.ResponseWriter, r *http.Request, turnID string, instead func()) {
		s.serveTurn(w, r, &sessionsv1.WatchTurnRequest{TurnId: turnID}, func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Header.Get("Last-Event-ID") != "" { // created by an earlier request
				problem.Write(w, r, err)
				return
			}
			s.deps.Log.DebugContext(r.Context(), "a turn was made whose events cannot be shown", "turn_id", turnID, "error", err)
			instead()
		})
	})
	return s, nil
}

// Turn serves the events of the turn turn_id.
func (s *Streams) Turn(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	s.serveTurn(w, r, &sessionsv1.WatchTurnRequest{TurnId: vars["turn_id"]}, problem.Write)
}

// Session serves the events of the session session_id.
func (s *Streams) Session(w http.ResponseWriter, r *http.Request, vars map[string]string) {
	s.serveTurn(w, r, &sessionsv1.WatchTurnRequest{SessionId: vars["session_id"]}, problem.Write)
}

// Drain ends all streams between two events, so that their readers reconnect elsewhere. New ones end at once.
func (s *Streams) Drain() { s.ended() }

// refusal responds to a request that cannot have a stream, before anything is written.
type refusal func(w http.ResponseWriter, r *http.Request, err error)

// source is what a stream is made of.
type source struct {
	// rpc is the full name of the method that is called.
	rpc string
	// open calls it. next returns the frame of each message.
	open func(ctx context.Context) (stream grpc.ClientStream, next func() (frame, error), err error)
	// resumed means that the stream may be over without a further event.
	resumed bool
	// end is the data of the frame that ends the stream; nil = the stream has no regular end.
	end []byte
	// logFields names the stream in the log.
	logFields []any
}

// serve serves one stream from the request to its end.
func (s *Streams) serve(w http.ResponseWriter, r *http.Request, src source, refuse refusal) {
	held, release := authn.Hold(r.Context())
	defer release()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	up, err := s.open(ctx, cancel, r, src)
	if err != nil {
		refuse(w, r, err)
		return
	}
	out := &writer{w: w, rc: http.NewResponseController(w), cfg: &s.cfg, cut: cancel, open: func(n int64) { s.deps.Open(ctx, n) }}
	if err := s.pump(held, r, src, up, out, refuse); err != nil {
		s.deps.Log.DebugContext(ctx, "event stream cut", append(src.logFields, "error", err)...)
	}
}

// upstream is a call whose messages are passed on.
type upstream struct {
	ctx    context.Context // of the call
	cancel context.CancelCauseFunc
	next   func() (frame, error)
	// admitted means that the call's headers have arrived. Receiving from one that ended without them returns the cause.
	admitted bool
}

// open calls upstream and waits until the call is admitted or over.
func (s *Streams) open(ctx context.Context, cancel context.CancelCauseFunc, r *http.Request, src source) (*upstream, error) {
	late := fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the sessions service cannot be reached")
	timer := time.AfterFunc(s.cfg.OpenTimeout, func() { cancel(late) })
	defer timer.Stop()
	ctx, err := s.deps.API.Annotate(ctx, r, src.rpc)
	if err != nil {
		return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_ARGUMENT,
			"a header of the request is malformed").Cause(err)
	}
	var header metadata.MD
	stream, next, err := src.open(ctx)
	if err == nil {
		header, err = stream.Header()
	}
	if errors.Is(context.Cause(ctx), late) {
		return nil, late
	}
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return &upstream{ctx, cancel, next, header != nil}, nil
}
