package step

import (
	"context"
	"errors"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// finish writes the end of the turn. Its outcome carries the ending in the fields finish_reason (the stop reason), error and cancelled.
type finish struct{ *Runner }

func (finish) prepare(context.Context, *work) error { return nil }

// do ends the turn as the decision says, except that a cancel which was accepted meanwhile is honoured.
func (f finish) do(_ context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	f.forget(w.turn.TurnID)
	ending := w.ref.GetEnding()
	if w.cancelled && ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_COMPLETED {
		ending = &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: engine.StopCancelled}
	}
	req := f.ending(ending)
	req.Inputs = w.ref.GetInputs()
	return req, nil
}

// ending makes the commit that ends a turn.
func (finish) ending(ending *turnv1.Ending) *sessionsv1.CommitStepRequest {
	return &sessionsv1.CommitStepRequest{
		Outcome: &turnv1.StepOutcome{
			FinishReason: ending.GetStopReason(), Error: ending.GetError(),
			Cancelled: ending.GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED,
		},
		Ending: ending,
	}
}

// giveUp tries once more: a turn must have an end.
func (f finish) giveUp(w *work, _ *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	req, _ := f.do(context.Background(), w) // it has no way to fail
	return req
}

// Finish does the finish step, also for a turn that was ended without one: then the outcome tells of the turn as it stands.
// Errors as in Do, without ErrTurnEnded, and ErrStale when the turn goes on instead.
func (r *Runner) Finish(ctx context.Context, turn contract.TurnInput, ref *turnv1.StepRef) (*turnv1.StepOutcome, error) {
	out, err := r.Do(ctx, turn, ref)
	if !errors.Is(err, ErrTurnEnded) {
		return out, err
	}
	ctx = asWorker(ctx, turn)
	loaded, err := r.deps.Sessions.LoadTurn(ctx, &sessionsv1.LoadTurnRequest{TurnId: turn.TurnID})
	if err != nil {
		return nil, classify(ctx, err)
	}
	t := loaded.GetTurn()
	return &turnv1.StepOutcome{
		Key: ref.GetKey(), Kind: ref.GetKind(), FinishReason: t.GetStopReason(), Error: t.GetError(),
		Cancelled: t.GetStatus() == contract.StatusCancelled,
	}, nil
}
