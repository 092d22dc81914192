package turn

import (
	"context"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Select asks the model which strategy fits.
func (a *Activities) Select(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}

// Plan asks the model for a plan, or for the rest of one.
func (a *Activities) Plan(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}
