package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

// run does a step under its lease.
func (r *Runner) run(
	ctx context.Context, action step.Action, w *task, claim *executionv1.ClaimStepResponse,
) (_ *turnv1.StepOutcome, err error) {
	w.Lease, w.Cancelled, w.Started = claim.GetLease(), claim.GetCancelRequested(), time.Now()
	w.Attempts.Resume(w.Lease.GetModelAttempts())
	held, release := r.hold(ctx, w)
	defer func() {
		if p := recover(); p != nil {
			r.deps.Log.ErrorContext(ctx, "step panicked", "turn", w.Turn.TurnID, "step", w.Ref.GetKey(), "panic", p)
			err = &step.RetryError{Err: fmt.Errorf("step %s panicked", w.Ref.GetKey())}
		}
		release(err)
	}()
	var commit *step.Commit
	givenUp := false
	if w.Lease.GetAttempt() > r.cfg.MaxAttempts {
		givenUp = true
		commit = action.GiveUp(&turnv1.TurnError{Code: "internal", Message: "The step was begun too often without coming to an end."})
	} else if commit, err = action.Do(providerdata.With(held, w.Lease.GetProviderData())); err != nil {
		if commit, err = r.resolve(held, action, w, err); err != nil {
			return nil, err
		}
	}
	out, err := r.commit(held, w, commit)
	if givenUp || !step.IsFinal(err) {
		return out, err
	}
	// The journal refuses this outcome, however often it is written. The step ends with the refusal instead.
	if fault.Is(err, faultv1.Reason_REASON_TOO_LARGE) {
		err = outcomeTooLarge(w.Ref.GetKey())
	}
	return r.commit(held, w, action.GiveUp(step.TurnError(err)))
}

// resolve decides what an error of a step means: a commit that gives the step up, or an error to retry.
func (r *Runner) resolve(ctx context.Context, action step.Action, w *task, err error) (*step.Commit, error) {
	if ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, step.ErrCancelled):
			w.Cancelled = true
			return action.GiveUp(nil), nil
		case errors.Is(cause, step.ErrDeadline):
			return action.GiveUp(step.DeadlineError()), nil
		default:
			return nil, cause
		}
	}
	classified := step.Classify(ctx, err)
	retry, again := errors.AsType[*step.RetryError](classified)
	switch {
	case step.IsFinal(classified):
		return action.GiveUp(step.TurnError(err)), nil
	case !again:
		return nil, classified
	}
	deadline := w.Deadline()
	late := !deadline.IsZero() && r.Now().Add(retry.Delay).After(deadline)
	_, _, left := r.cfg.callBudget().Left(&w.Attempts, time.Now().Add(retry.Delay))
	if w.Lease.GetAttempt() >= r.cfg.attempts(w.Ref.GetKind()) || late || !left {
		return action.GiveUp(step.TurnError(err)), nil
	}
	return nil, classified
}

// commit writes the outcome. It outlives the step's context, and it tries for a while: the work is done, only the writing is not.
func (r *Runner) commit(ctx context.Context, w *task, req *step.Commit) (*turnv1.StepOutcome, error) {
	r.complete(w, req)
	if w.advance != nil {
		w.advance.lookAhead(ctx, w, req)
		defer w.advance.endClaims(req)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.CommitPatience)
	defer cancel()
	for pauses := (backoff.Policy{First: 50 * time.Millisecond, Max: time.Second}).Start(); ; {
		resp, err := r.deps.Sessions.CommitStep(ctx, req)
		switch {
		case err == nil && resp.GetBusy() != nil:
			return nil, step.ErrElsewhere
		case err == nil && resp.GetStale():
			return nil, step.ErrStale
		case err == nil:
			if w.advance != nil {
				w.advance.committed(req, resp)
			}
			return resp.GetOutcome(), nil
		}
		err = step.Classify(context.WithoutCancel(ctx), fmt.Errorf("commit %s: %w", w.Ref.GetKey(), err))
		if _, again := errors.AsType[*step.RetryError](err); !again || pauses.Wait(ctx) != nil {
			return nil, err
		}
	}
}

// complete adds to a commit what all commits have.
func (r *Runner) complete(w *task, req *step.Commit) {
	req.TurnId, req.Fence = w.Turn.TurnID, w.Lease.GetFence()
	took := time.Since(w.Started)
	req.Duration = durationpb.New(took)
	if req.Outcome == nil {
		req.Outcome = &turnv1.StepOutcome{}
	}
	req.Outcome.Key, req.Outcome.Kind = w.Ref.GetKey(), w.Ref.GetKind()
	req.Outcome.Cancelled = req.Outcome.Cancelled || w.Cancelled
	req.Outcome.StartTime = timestamppb.New(r.Now().Add(-took))
	req.Outcome.Attempts, req.Outcome.Worker = max(w.Lease.GetAttempt(), 1), r.cfg.Owner
	model.Settle(w.Work, req.GetOutcome())
}

func outcomeTooLarge(step string) *fault.Error {
	return fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_TOO_LARGE, "what step %s came to is too large to be kept", step).
		Hint("Have it answer with less, or store large content as an artifact.")
}
