package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/windlass-dev/windlass/libs/bus"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// eventsBuffer is how many events of a session can be pending; more ends the subscription.
const eventsBuffer = 64

// joinBriefly waits up to Config.JoinTime for the eager run of a turn, starts one if no worker runs the turn, and returns the outcomes of
// its steps so far. It returns at once if the turn waits for a person. Errors are those of runner.Runner.Outcomes.
func (r *runs) joinBriefly(ctx context.Context, turn contract.TurnInput) ([]*turnv1.StepOutcome, error) {
	joining, cancel := context.WithTimeout(ctx, r.joinTime)
	defer cancel()
	if out, err := r.join(joining, turn, false); err == nil {
		return out, nil
	}
	events, err := r.bus.Subscribe(contract.EventSubject(turn.Tenant, turn.SessionID), eventsBuffer)
	if err == nil {
		defer events.Close()
	}
	for {
		now, err := r.steps.Outcomes(ctx, turn)
		if err != nil || now.GetEnded() || joining.Err() != nil || idle(now) {
			return now.GetOutcomes(), err
		}
		if len(now.GetHeld()) == 0 {
			out, err := r.join(joining, turn, true)
			if err == nil {
				return out, nil
			}
			if errors.Is(err, step.ErrWaiting) {
				continue // and read what for
			}
		}
		awaitEnd(joining, events, turn.TurnID)
	}
}

// idle reports whether a turn can do nothing before a wait is answered.
func idle(now *executionv1.GetOutcomesResponse) bool {
	d := engine.Next(engine.State{Outcomes: now.GetOutcomes(), Now: now.GetCurrentTime().AsTime()})
	return d.Waiting && len(d.Steps) == 0
}

// join waits until this worker's run of a turn has ended the turn, and returns the outcomes of all steps, or the error of the run. With
// begin it starts a run if there is none.
func (r *runs) join(ctx context.Context, turn contract.TurnInput, begin bool) ([]*turnv1.StepOutcome, error) {
	if out, ok := r.finished.Get(turn.TurnID); ok {
		return out, nil
	}
	one := r.current(turn.TurnID)
	if one == nil && begin {
		one = r.ensure(ctx, turn)
	}
	if one == nil {
		return nil, step.ErrElsewhere
	}
	select {
	case <-one.done:
		return one.outcomes, one.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// awaitEnd waits until an event reports the turn's end, or ctx ends.
func awaitEnd(ctx context.Context, events *bus.Subscription, turn string) {
	var news <-chan bus.Msg // never ready without a bus
	if events != nil {
		news = events.C()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case m, open := <-news:
			if !open {
				news = nil
				continue
			}
			events, err := contract.UnpackEvents(m.Data)
			if err == nil && slices.ContainsFunc(events, func(e *turnv1.Event) bool { return e.GetTurnEnded() != nil && e.GetTurnId() == turn }) {
				return
			}
		}
	}
}
