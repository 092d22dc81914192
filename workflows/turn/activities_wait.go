package turn

import (
	"context"
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// ReadJournal returns the outcomes in the journal that are not known yet: a wait was answered, or the turn was given more input.
// Known are the keys of steps; as it is a local activity they are in no history. It is an error if the turn was ended without its
// finish step.
func (a *Activities) ReadJournal(ctx context.Context, in contract.TurnInput, known []string) (*turnv1.Progress, error) {
	now, err := a.steps.Outcomes(ctx, in)
	if err != nil {
		return nil, toTemporal(err)
	}
	p := a.progress()
	for _, o := range now.GetOutcomes() {
		if !slices.Contains(known, o.GetKey()) {
			p.Outcomes = append(p.Outcomes, withoutText(o))
		}
	}
	if now.GetEnded() && !stepview.Outcomes(now.GetOutcomes()).Has(stepkey.Finish) {
		return nil, toTemporal(step.ErrTurnEnded)
	}
	return p, nil
}

// Expire ends the waits whose time is up, then does what ReadJournal does.
func (a *Activities) Expire(ctx context.Context, in contract.TurnInput, known []string) (*turnv1.Progress, error) {
	if err := own(ctx, in); err != nil {
		return nil, err
	}
	if err := a.steps.ExpireWaits(ctx, in); err != nil {
		return nil, toTemporal(err)
	}
	return a.ReadJournal(ctx, in, known)
}
