package turn

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// longestPark is how long a turn is parked at a time when nothing that it waits for expires. Then it looks whether there is something new, and
// parks again.
const longestPark = 30 * 24 * time.Hour

// stay is how long the workflow of a turn that rests stays in its worker's memory before it is parked: its run ends, and the next one begins
// when somebody answers or the first wait expires. Until then no worker knows of the turn. False means that it does not park: it has
// something to do, or soon will have.
func (w *walk) stay(decision engine.Decision) (time.Duration, bool) {
	after := time.Duration(w.in.ParkAfterMs) * time.Millisecond
	if after <= 0 || !decision.Waiting || len(decision.Steps) > 0 || len(w.running) > 0 {
		return 0, false
	}
	if w.stayed || w.parked && w.busy == 0 { // the run was called for nothing
		after = 0
	}
	if at := decision.Wake; !at.IsZero() && at.Sub(w.now()) <= after+leastWait {
		return 0, false
	}
	return after, true
}

// late reports whether the turn was parked until now, when a wait's time is up.
func (w *walk) late(decision engine.Decision) bool {
	return w.parked && w.busy == 0 && !decision.Wake.After(w.now())
}

// parks reports whether the turn is to be parked now.
func (w *walk) parks(decision engine.Decision) bool {
	stay, parks := w.stay(decision)
	return parks && stay == 0
}

// park ends the run, and gives the error that does it. A run that has not begun has no steps and no details to show: what people read of it is its
// input and the search attributes of the one before.
func (w *walk) park(decision engine.Decision) error {
	now := w.now()
	delay := longestPark
	if !decision.Wake.IsZero() {
		delay = min(delay, decision.Wake.Sub(now))
	}
	if !w.parked {
		if err := w.setStatus(contract.StatusWaiting); err != nil {
			return fmt.Errorf("park: %w", err)
		}
	}
	next := w.next()
	next.Parked = w.parkedText(now)
	return workflow.NewContinueAsNewErrorWithOptions(w.ctx, workflow.ContinueAsNewErrorOptions{BackoffStartInterval: delay}, contract.TurnWorkflow, next)
}

func (w *walk) parkedText(now time.Time) string {
	var waits []string
	for _, o := range w.outcomes {
		if o.GetWait() != nil && !has(w.outcomes, stepkey.Wait(o.GetKey())) {
			waits = append(waits, "tool "+engine.ToolOf(w.outcomes, o.GetKey())+" "+waitsFor(o.GetWait(), true))
		}
	}
	return fmt.Sprintf("since %s, after %d steps (see the run before): %s", now.UTC().Format(time.RFC3339), len(w.outcomes), strings.Join(waits, "; "))
}

// unpark shows that the turn goes on.
func (w *walk) unpark() {
	if !w.parked {
		return
	}
	w.parked = false
	if err := w.setStatus(contract.StatusRunning); err != nil {
		workflow.GetLogger(w.ctx).Warn("turn is still shown as parked", "error", err)
	}
}
