package turn

import (
	"context"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Compact replaces older messages by a summary.
func (a *Activities) Compact(ctx context.Context, in contract.TurnInput, ref *turnv1.StepRef, since int64) (*turnv1.Progress, error) {
	return a.do(ctx, a.steps.Do, in, ref, since)
}
