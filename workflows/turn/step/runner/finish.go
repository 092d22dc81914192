package runner

import (
	"context"
	"errors"
	"fmt"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// finishKind is that of finish steps, which write the end of the turn. The outcome carries the ending in the fields finish_reason (the
// stop reason), error and cancelled.
type finishKind struct{ *Runner }

// Prepare implements step.Kind.
func (k finishKind) Prepare(_ context.Context, w *step.Work) (step.Action, error) {
	return finish{k.Runner, w}, nil
}

// finish is one finish step.
type finish struct {
	*Runner
	w *step.Work
}

// Do ends the turn as the decision says, or as cancelled if a cancel was accepted since a completed end was decided.
func (f finish) Do(context.Context) (*step.Commit, error) {
	f.forget(f.w.Turn.TurnID)
	ending := f.w.Ref.GetEnding()
	if f.w.Cancelled && ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: engine.StopCancelled}
	}
	return ended(ending, f.w.Ref.GetInputs()), nil
}

// GiveUp tries once more: a turn must have an end.
func (f finish) GiveUp(*turnv1.TurnError) *step.Commit {
	req, _ := f.Do(context.Background()) // it never fails
	return req
}

// ended is the commit that ends a turn.
func ended(ending *turnv1.Ending, inputs uint32) *step.Commit {
	return &step.Commit{
		Outcome: &turnv1.StepOutcome{
			FinishReason: ending.GetStopReason(), Error: ending.GetError(),
			Cancelled: ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED,
		},
		Ending: ending, Inputs: inputs,
	}
}

// Finish runs the finish step, also for a turn that was ended without one: then the outcome is that of the turn as it is. Errors are
// those of Do, without step.ErrTurnEnded, and step.ErrStale if the turn continues instead.
func (r *Runner) Finish(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	out, err := r.Do(ctx, turn, ref)
	if !errors.Is(err, step.ErrTurnEnded) {
		return out, err
	}
	ctx = asWorker(ctx, turn)
	loaded, err := r.deps.Sessions.LoadTurn(ctx, &executionv1.LoadTurnRequest{TurnId: turn.TurnID})
	if err != nil {
		return nil, step.Classify(ctx, err)
	}
	t := loaded.GetTurn()
	return &turnv1.StepOutcome{
		Key: ref.GetKey(), Kind: ref.GetKind(), FinishReason: t.GetStopReason(), Error: t.GetError(),
		Cancelled: t.GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED,
	}, nil
}

// ExpireWaits ends the waits of a turn whose time is up. Errors as in Do.
func (r *Runner) ExpireWaits(ctx context.Context, turn contract.TurnInput) error {
	ctx = asWorker(ctx, turn)
	_, err := r.deps.Sessions.ExpireWaits(ctx, &executionv1.ExpireWaitsRequest{TurnId: turn.TurnID})
	if err != nil {
		return step.Classify(ctx, fmt.Errorf("expire waits: %w", err))
	}
	return nil
}
