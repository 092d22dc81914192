package turn

import (
	"time"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// clock is the database's, by which deadlines and waits are judged, as far as a workflow knows it.
type clock struct {
	behind time.Duration // how much Temporal's clock is behind the database's, at least; negative when it is ahead
	known  bool          // behind was measured
}

func (c *clock) now(ctx workflow.Context) time.Time { return workflow.Now(ctx).Add(c.behind) }

// set takes the database's time from an activity's result. It was read a moment ago, so it is too early rather than too late: of all
// readings the one with the least delay counts. A failed activity has none.
func (c *clock) set(ctx workflow.Context, p *turnv1.Progress) {
	if at := p.GetNowMicros(); at > 0 {
		if behind := time.UnixMicro(at).Sub(workflow.Now(ctx)); !c.known || behind > c.behind {
			c.behind, c.known = behind, true
		}
	}
}
