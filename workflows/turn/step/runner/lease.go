package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/fault"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// Buffers of messages about a session that may wait for a step: its events, and its cancels. More end the subscription; the next renewal
// reports a cancel instead.
const (
	newsBuffer   = 64
	cancelBuffer = 4
)

// retries are the pauses after failed attempts of a step.
var retries = backoff.Policy{First: 200 * time.Millisecond, Max: 5 * time.Second}

// longestBudgetPause bounds the pause between two claims of a step that waits for a budget.
const longestBudgetPause = 500 * time.Millisecond

func (r *Runner) claim(ctx context.Context, w *task) (*executionv1.ClaimStepResponse, error) {
	if c := w.claimed; c != nil {
		w.claimed = nil
		return c, nil
	}
	return r.deps.Sessions.ClaimStep(ctx, r.claimRequest(w))
}

// claimRequest makes the claim of a prepared step.
func (r *Runner) claimRequest(w *task) *executionv1.ClaimStepRequest {
	req := &executionv1.ClaimStepRequest{
		TurnId: w.Turn.TurnID, Step: w.Ref, Owner: r.cfg.Owner, Ttl: durationpb.New(r.cfg.LeaseTTL),
		ToolCall: w.Announced,
	}
	if w.Ref.GetKind() == turnv1.StepKind_STEP_KIND_INFER {
		req.Model = w.Loaded.GetSurface().GetModel()
	}
	return req
}

// hold keeps the lease while the step runs. The context it returns ends when the lease is lost, when the turn is cancelled, and at the
// turn's deadline. The function it returns ends the renewal; with an error it also releases the lease.
func (r *Runner) hold(ctx context.Context, w *task) (context.Context, func(error)) {
	held, cancel := context.WithCancelCause(ctx)
	// A clock of our own instead of the context's deadline: that one would travel with each call, and the other side would end the
	// call first and as its own doing.
	stopClock := func() {}
	if deadline := w.Deadline(); !deadline.IsZero() {
		stopClock = after(deadline.Sub(r.Now()), func() { cancel(step.ErrDeadline) })
	}
	// A commit outlives the step's context, and so must the lease.
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	// Before the step works: a cancel may come at once.
	news := r.listen(renewing, contract.CancelSubject(w.Turn.Tenant, w.Turn.SessionID), cancelBuffer)
	go func() {
		defer close(done)
		defer news.close()
		r.renew(renewing, w, news, cancel)
	}()
	return held, func(err error) {
		stopRenewing()
		<-done
		stopClock()
		cancel(nil)
		if err != nil && !errors.Is(err, step.ErrLeaseLost) && !errors.Is(err, step.ErrTurnEnded) {
			r.release(ctx, w, pauseAfter(err, w.Lease.GetAttempt()))
		}
	}
}

// after calls f after a time. The function it returns prevents that, or waits until f has returned.
func after(d time.Duration, f func()) (stop func()) {
	fired := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(fired)
		f()
	})
	return func() {
		if !timer.Stop() {
			<-fired
		}
	}
}

// renew prolongs the lease and listens for a cancel until ctx ends. That sessions cannot be reached is no reason to stop: while it is
// away no other worker can take the step either, and the fence decides in the end.
func (r *Runner) renew(ctx context.Context, w *task, news *news, stop context.CancelCauseFunc) {
	tick := time.NewTicker(r.cfg.LeaseTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case m, open := <-news.c():
			if !open {
				news.drop()
			} else if string(m.Data) == w.Turn.TurnID { // a hint: sessions says whether it is so
				if err := r.renewOnce(ctx, w); err != nil {
					stop(err)
				}
			}
		case <-tick.C:
			if err := r.renewOnce(ctx, w); err != nil {
				stop(err)
			}
		}
	}
}

// renewOnce renews the lease, and returns why to stop, nil if the step continues.
func (r *Runner) renewOnce(ctx context.Context, w *task) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.LeaseTTL) // then the next one is due
	defer cancel()
	resp, err := r.deps.Sessions.RenewStep(ctx, &executionv1.RenewStepRequest{
		TurnId: w.Turn.TurnID, Step: w.Ref.GetKey(), Fence: w.Lease.GetFence(), Ttl: durationpb.New(r.cfg.LeaseTTL),
	})
	switch {
	case fault.Is(err, faultv1.Reason_REASON_LEASE_LOST):
		return step.ErrLeaseLost
	case resp.GetCancelRequested():
		return step.ErrCancelled
	}
	return nil
}

// pauseAfter is how long a failed step waits before its next attempt, by any worker; 0 if it was released without a failure.
func pauseAfter(err error, attempt uint32) time.Duration {
	retry, again := errors.AsType[*step.RetryError](err)
	switch {
	case !again:
		return 0
	case retry.Delay > 0:
		return min(retry.Delay, time.Hour)
	default:
		return retries.After(int(attempt))
	}
}

// release releases the lease, so that the next attempt need not wait for its end, but only for the backoff. Best effort: it expires by
// itself too.
func (r *Runner) release(ctx context.Context, w *task, rest time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.LeaseTTL)
	defer cancel()
	if _, err := r.deps.Sessions.ReleaseStep(ctx, &executionv1.ReleaseStepRequest{
		TurnId: w.Turn.TurnID, Step: w.Ref.GetKey(), Fence: w.Lease.GetFence(), Backoff: durationpb.New(rest),
		ModelAttempts: w.Attempts.All(),
	}); err != nil {
		r.deps.Log.DebugContext(ctx, "lease not given back, it will expire", "step", w.Ref.GetKey(), "error", err)
	}
}

// budgetPause is how much time passes before a step that waits for a budget is claimed again: twice as much after each claim in
// vain, up to longestBudgetPause, and some more or less, for many may wait.
func budgetPause(busy *executionv1.Busy, claims int) time.Duration {
	pause := min(min(busy.GetExpiresIn().AsDuration(), longestBudgetPause)<<min(claims, 10), longestBudgetPause)
	return pause/2 + rand.N(pause+1) //nolint:gosec // jitter
}

// waitFor waits until the step's holder has ended it, or its lease has run out.
func (r *Runner) waitFor(ctx context.Context, w *task, busy *executionv1.Busy) error {
	news := r.listen(ctx, contract.EventSubject(w.Turn.Tenant, w.Turn.SessionID), newsBuffer)
	defer news.close()
	timer := time.NewTimer(min(busy.GetExpiresIn().AsDuration(), r.cfg.LeaseTTL) + 5*time.Millisecond)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return nil
		case m, open := <-news.c():
			if !open || endsStep(m, w) {
				return nil
			}
		}
	}
}

// news are messages as they come, as long as the bus is there. The zero value never has any.
type news struct{ sub *bus.Subscription }

func (r *Runner) listen(ctx context.Context, subject string, buffer int) *news {
	sub, err := r.deps.Bus.Subscribe(subject, buffer)
	if err != nil {
		r.deps.Log.DebugContext(ctx, "no news from the bus", "error", err)
		return &news{}
	}
	return &news{sub}
}

// c is nil, and so never ready, when there is no subscription.
func (n *news) c() <-chan bus.Msg {
	if n.sub == nil {
		return nil
	}
	return n.sub.C()
}

func (n *news) drop() { n.sub = nil }

func (n *news) close() {
	if n.sub != nil {
		n.sub.Close()
	}
}

// endsStep reports whether an event means that a claim of the step would now have another result.
func endsStep(m bus.Msg, w *task) bool {
	events, err := contract.UnpackEvents(m.Data)
	return err == nil && slices.ContainsFunc(events, func(e *turnv1.Event) bool {
		return e.GetTurnId() == w.Turn.TurnID && (e.GetTurnEnded() != nil || e.GetStepFinished() != nil && e.GetStep() == w.Ref.GetKey())
	})
}
