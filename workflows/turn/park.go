package turn

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// longestPark is how long a turn is parked at a time when no wait of it expires. Then it reads the journal, and parks again.
const longestPark = 30 * 24 * time.Hour

// parkDelay returns how long the workflow of an idle turn stays in its worker's memory before it is parked: its run ends, and the next one
// starts when a wait is answered or the first one expires. In between no worker holds anything of the turn. It returns false if the turn
// does not park: it has something to do, or soon will have.
func (w *walk) parkDelay(decision engine.Decision) (time.Duration, bool) {
	after := time.Duration(w.in.ParkAfter)
	if after <= 0 || !decision.Waiting || len(decision.Steps) > 0 || len(w.running) > 0 {
		return 0, false
	}
	if w.idled || w.parked && w.busy == 0 { // the run found nothing to do
		after = 0
	}
	if at := decision.Wake; !at.IsZero() && at.Sub(w.now()) <= after+leastWait {
		return 0, false
	}
	return after, true
}

// expiredWhileParked reports whether the turn was parked until now, when a wait expires.
func (w *walk) expiredWhileParked(decision engine.Decision) bool {
	return w.parked && w.busy == 0 && !decision.Wake.After(w.now())
}

// parks reports whether the turn is to be parked now.
func (w *walk) parks(decision engine.Decision) bool {
	delay, parks := w.parkDelay(decision)
	return parks && delay == 0
}

// park returns the error that ends the run. The next run has no steps and no details to show before it starts: the Temporal UI shows its
// input and the search attributes of the run before.
func (w *walk) park(decision engine.Decision) error {
	now := w.now()
	delay := longestPark
	if !decision.Wake.IsZero() {
		delay = min(delay, decision.Wake.Sub(now))
	}
	if err := w.setWaiting(true); err != nil {
		return fmt.Errorf("park: %w", err)
	}
	next := w.next()
	next.Parked = w.parkedText(now)
	options := workflow.ContinueAsNewErrorOptions{BackoffStartInterval: delay}
	return workflow.NewContinueAsNewErrorWithOptions(w.ctx, options, contract.TurnWorkflow, next)
}

func (w *walk) parkedText(now time.Time) string {
	var waits []string
	for _, o := range w.outcomes.Waiting() {
		waits = append(waits, "tool "+w.outcomes.Tool(o.GetKey())+" "+stepview.Wait(o.GetWait(), true))
	}
	since := now.UTC().Format(time.RFC3339)
	return fmt.Sprintf("since %s, after %d steps (see the run before): %s", since, len(w.outcomes), strings.Join(waits, "; "))
}

// setWaiting makes it searchable whether the turn waits. A turn that never waits has no event for it.
func (w *walk) setWaiting(waiting bool) error {
	if w.waiting == waiting {
		return nil
	}
	w.waiting = waiting
	if waiting {
		return setStatus(w.ctx, contract.StatusWaiting)
	}
	return setStatus(w.ctx, contract.StatusRunning)
}
