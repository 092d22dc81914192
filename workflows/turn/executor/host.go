// Package executor runs what thinks in the place of a model: programs and services that speak windlass.executor/v1. One round goes from an
// invocation to an answer or to tool calls; what becomes of those is the engine's business.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/libs/process"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Deps are what a host works with. All are required, except Vault.
type Deps struct {
	// Egress leads to executors elsewhere.
	Egress *egress.Egress
	// Vault has stored secrets; without it executors cannot refer to any.
	Vault envref.Vault
	// Log takes what executors write to their error output, at debug.
	Log *slog.Logger
}

// Host runs executors. It is safe for concurrent use.
type Host struct {
	cfg      Config
	programs *process.Programs
	egress   *egress.Egress
	vault    envref.Vault
	client   *http.Client
	log      *slog.Logger
	places   chan struct{} // one for each executor that runs

	mu      sync.Mutex
	closed  bool
	waiting int                // rounds that wait for a place
	parked  map[string]*parked // by turn
	ending  sync.WaitGroup     // executors that are being ended beside a round
}

// New checks configuration and dependencies.
func New(cfg Config, deps Deps) (*Host, error) {
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if deps.Egress == nil || deps.Log == nil {
		return nil, errors.New("executor host: Egress and Log are required")
	}
	programs, err := process.NewPrograms(cfg.Commands, cfg.CommandPath)
	if err != nil {
		return nil, fmt.Errorf("worker.executors.commands: %w", err)
	}
	return &Host{
		cfg: cfg, programs: programs, egress: deps.Egress, vault: deps.Vault, log: deps.Log,
		places: make(chan struct{}, cfg.MaxProcesses), parked: map[string]*parked{},
		client: deps.Egress.Client(egress.Options{MaxResponseBytes: maxRound}),
	}, nil
}

// Round is one round to be done.
type Round struct {
	// Executor is the agent's.
	Executor *sessionsv1.Executor
	// Later returns what the placeholders that are left in the executor's texts stand for here. Nil when the texts are not sealed.
	Later placeholder.Lookup
	// Invocation is all that the executor receives, except for its deadline.
	Invocation *executorv1.Invocation
	// Asked are the calls of the message before, whose results the invocation brings; nil in a round that begins otherwise.
	Asked []*turnv1.ToolCall
	// Used are the ids of all calls of the turn so far.
	Used map[string]bool
	// Left is what the round may use, see Left.
	Left Left
}

// Sink receives what an executor reports before the end of its round.
type Sink struct {
	// Attached keeps the executor's own id of the session. The round continues once it returns.
	Attached func(ctx context.Context, id string) error
	// Text and Reasoning take pieces of the answer.
	Text, Reasoning func(piece string)
	// Call takes a tool call and its place in the round, from 0.
	Call func(index int, call *turnv1.ToolCall)
	// Used receives all that the round has used so far, each time the executor reports usage. The receiver owns the value.
	Used func(sum *turnv1.Usage)
}

// Answer is the result of a round.
type Answer struct {
	// Text and Reasoning are the whole of both.
	Text, Reasoning string
	// Calls are the tools to be called.
	Calls []*turnv1.ToolCall
	// Usage is what the executor reported.
	Usage *turnv1.Usage
	// Model wrote the answer, "" if the executor does not report it.
	Model string
	// FinishReason is "stop", "tool_calls", "length", "content_filter" or FinishBudget.
	FinishReason string
}

var errRoundTime = errors.New("the executor's time for the round is up")

// Run does a round. When ctx ends it ends the executor (SIGTERM, then SIGKILL; remote ones are hung up on), and returns once that is done.
// Errors are faults: EXECUTOR_UNAVAILABLE may pass, all others are final. An error of Sink.Attached is returned as it is.
func (h *Host) Run(ctx context.Context, r Round, sink Sink) (*Answer, error) {
	s, err := h.newSpec(r.Executor, r.Invocation.GetTenant(), r.Later)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, errRoundTime)
	defer cancel()
	if deadline, ok := ctx.Deadline(); ok && (r.Invocation.GetDeadline() == nil || deadline.Before(r.Invocation.GetDeadline().AsTime())) {
		r.Invocation.Deadline = timestamppb.New(deadline)
	}
	answer, err := h.resume(ctx, r, sink)
	if errors.Is(err, errStale) {
		answer, err = h.begin(ctx, s, r, sink)
	}
	if errors.Is(err, errUnknownSession) {
		r.Invocation.Mode, r.Invocation.ExecutorSessionId = executorv1.Mode_MODE_START, ""
		answer, err = h.begin(ctx, s, r, sink)
	}
	switch {
	case err == nil:
		return answer, nil
	case errors.Is(context.Cause(ctx), errRoundTime):
		return nil, away("the executor did not end its round within %s", s.timeout)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case errors.Is(err, errUnknownSession):
		return nil, failed("the executor says session_not_found to a new session")
	}
	return nil, clean(err, s)
}

// clean removes secrets from the text of a failure, parts of which the executor has written.
func clean(err error, s *spec) error {
	f, ok := err.(*fault.Error) //nolint:errorlint // one that is wrapped is another's
	if !ok {
		return err
	}
	out := *f
	out.Message, out.Todo = s.redact(f.Message), s.redact(f.Todo)
	return &out
}

// begin starts an executor for the round.
func (h *Host) begin(ctx context.Context, s *spec, r Round, sink Sink) (*Answer, error) {
	if err := h.enter(ctx); err != nil {
		return nil, err
	}
	l, err := h.open(ctx, s, r.Invocation)
	if err != nil {
		h.leave()
		return nil, err
	}
	return h.run(ctx, l, r, sink)
}

// run reads a round from an executor, and ends or keeps it.
func (h *Host) run(ctx context.Context, l link, r Round, sink Sink) (*Answer, error) {
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		l.cut()
	})
	answer, stays, err := read(ctx, l, r, sink, h.cfg.Grace)
	if !stop() { // it is being ended
		<-cut
	}
	switch {
	case err != nil || ctx.Err() != nil || answer.FinishReason == FinishBudget:
		l.cut()
	case stays && len(answer.Calls) > 0:
		h.park(r, l, answer)
		return answer, nil
	default:
		l.finish()
	}
	h.leave()
	return answer, err
}

// enter takes a place among the executors that run. Those that only wait make room.
func (h *Host) enter(ctx context.Context) error {
	select {
	case h.places <- struct{}{}:
		return nil
	default:
	}
	h.wait(1)
	defer h.wait(-1)
	h.dropOldest()
	select {
	case h.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return away("all places for executors on this worker are taken (worker.executors.max_processes)")
	}
}

func (h *Host) leave() { <-h.places }

// wait counts the rounds that wait for a place: while there are some, no executor is kept.
func (h *Host) wait(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting += n
}

// Close ends the executors that wait for the next round. The callers have to end running rounds before; later ones keep no executor.
func (h *Host) Close() {
	h.mu.Lock()
	h.closed = true
	all := h.parked
	h.parked = map[string]*parked{}
	h.mu.Unlock()
	for _, p := range all {
		h.drop(p)
	}
	h.ending.Wait()
	h.client.CloseIdleConnections()
}
