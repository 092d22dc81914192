package execute

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/stack"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Run runs the call, joins it if it is already running, or returns its result from the ledger. Events come in order, from one goroutine, to
// emit, unless it is nil; an error of emit ends the wait. A caller that goes away does not end a call with side effects; the call
// continues, and its result is available to the next caller with the key.
//
// A failure of the call itself is an Outcome. Errors are ours: database or policy unavailable, a key used for another call
// (IDEMPOTENCY_CONFLICT), or ctx ended.
func (x *Executor) Run(ctx context.Context, c Call, emit func(Event) error) (Outcome, error) {
	r := newRequest(c)
	for {
		f, leader, err := x.flights.join(ctx, r)
		if err != nil {
			return Outcome{}, err
		}
		if leader {
			go x.lead(ctx, f, r)
		}
		out, err := f.follow(ctx, emit)
		if errors.Is(err, errAbandoned) && ctx.Err() == nil {
			continue // it was cancelled, since no caller waited, just before we joined
		}
		if err == nil && !leader && (out.Approval != nil || out.Input != nil || out.Unresolved) && r.brings(f.req) {
			continue // we have the answer that the joined call lacked
		}
		return out, err
	}
}

// lead runs the call of a flight to its end, independent of the caller that started it.
func (x *Executor) lead(ctx context.Context, f *flight, r *request) {
	stack.GrowDeep()
	ctx, cancel := f.start(ctx)
	defer cancel()
	out, err := x.guarded(ctx, f, r)
	if why := f.whyGivenUp(); err != nil && why != nil {
		err = why // any failure now is due to the call being given up
	}
	x.deps.Metrics.record(r.Tenant, r.Tool, out, err)
	x.flights.end(f, out, err)
}

// guarded turns a panic into an error: a flight must always end.
func (x *Executor) guarded(ctx context.Context, f *flight, r *request) (out Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.Internal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return x.execute(ctx, f, r)
}

// execute reads the key's row from the ledger and acts on its state.
func (x *Executor) execute(ctx context.Context, f *flight, r *request) (Outcome, error) {
	if r.NewKey && r.Input == nil {
		out, err := x.attempt(ctx, f, r, nil)
		if !errors.Is(err, store.ErrExists) {
			return out, err
		}
	}
	for {
		row, err := x.deps.Store.Execution(ctx, r.Tenant, r.Key)
		var out Outcome
		switch {
		case errors.Is(err, store.ErrNotFound) && r.Input != nil && r.direct():
			return failed(noQuestion(r.Tool)), nil
		case errors.Is(err, store.ErrNotFound):
			out, err = x.attempt(ctx, f, r, nil)
		case err != nil:
			return Outcome{}, fmt.Errorf("look up execution: %w", err)
		case !r.same(row.Tool, row.Subject, row.ArgumentsHash):
			return Outcome{}, conflict(r.Key)
		default:
			out, err = x.known(ctx, f, r, row)
		}
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) {
			continue // another replica was faster: read again
		}
		return out, err
	}
}

// known continues from an existing row. ErrChanged means that the row must be read again.
func (x *Executor) known(ctx context.Context, f *flight, r *request, row store.Execution) (Outcome, error) {
	switch row.State {
	case store.Done:
		x.replayDecision(f, row)
		return x.stored(row)
	case store.Waiting:
		asked, err := question(row)
		if err != nil {
			return Outcome{}, err
		}
		if r.Input != nil && r.direct() && !r.answers(asked) {
			return failed(noQuestion(r.Tool)), nil
		}
		if !r.answers(asked) {
			x.replayDecision(f, row)
			return Outcome{Input: asked, Cached: true, ExecutionID: row.ID, Latency: row.Latency, source: row.Source}, nil
		}
	case store.Failed:
		if out, ok := r.contradicts(row); ok {
			return out, nil
		}
	case store.Unresolved:
		if r.Resolution != nil {
			return x.resolved(ctx, f, r, row)
		}
		if !row.Effect.Repeatable() {
			x.replayDecision(f, row)
			return unresolved(row), nil
		}
	case store.Open:
		if x.alive(row) {
			if err := x.waitForOther(ctx, row); err != nil {
				return Outcome{}, err
			}
			return Outcome{}, store.ErrChanged
		}
		// The replica that ran it is dead, and the outcome is unknown.
		if err := x.deps.Store.GiveUp(ctx, row, x.deps.Now()); err != nil {
			return Outcome{}, err
		}
		x.dropResults(ctx, row)
		x.deps.Log.WarnContext(ctx, "execution was orphaned", "execution_id", row.ID, "tool", row.Tool, "repeatable", row.Effect.Repeatable())
		return Outcome{}, store.ErrChanged
	}
	return x.attempt(ctx, f, r, &row)
}

// alive reports whether the row's owner still runs it. A row of our own is a leftover here: this flight is the only one for its key.
func (x *Executor) alive(row store.Execution) bool {
	return row.Owner != x.owner && x.deps.Now().Before(row.Lease)
}

// waitForOther waits a moment, at most until the row's lease ends.
func (x *Executor) waitForOther(ctx context.Context, row store.Execution) error {
	return backoff.Sleep(ctx, min(max(row.Lease.Sub(x.deps.Now()), time.Millisecond), 200*time.Millisecond))
}

// replayDecision emits the decision that allowed the call when it ran.
func (x *Executor) replayDecision(f *flight, row store.Execution) {
	f.tell(Event{Decided: &Decision{ID: row.DecisionID, Allowed: true, Reason: "allowed when the call was made"}})
}
