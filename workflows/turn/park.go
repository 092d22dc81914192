package turn

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
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
	if at := decision.Wake; !at.IsZero() && at.Sub(workflow.Now(w.ctx)) <= after+leastWait {
		return 0, false
	}
	return after, true
}

// parks tells whether the turn is to be parked now.
func (w *walk) parks(decision engine.Decision) bool {
	stay, parks := w.stay(decision)
	return parks && stay == 0
}

// park shows that the turn is parked, and for what, and gives for how long. A run that has not begun has no steps and no details to show, but
// it has the memo and the search attributes of the one before.
func (w *walk) park(decision engine.Decision) (time.Duration, error) {
	now := workflow.Now(w.ctx)
	delay := longestPark
	if !decision.Wake.IsZero() {
		delay = min(delay, decision.Wake.Sub(now))
	}
	var waits []string
	for _, wait := range w.waits() {
		waits = append(waits, waitsFor(wait, true))
	}
	text := fmt.Sprintf("%s. Parked since %s after %d steps: see the runs before.",
		strings.Join(waits, "; "), now.UTC().Format(time.RFC3339), len(w.outcomes))
	if err := workflow.UpsertMemo(w.ctx, map[string]any{contract.MemoParked: text}); err != nil {
		return 0, fmt.Errorf("park: %w", err)
	}
	if w.parked {
		return delay, nil
	}
	if err := w.setStatus(contract.StatusWaiting); err != nil {
		return 0, fmt.Errorf("park: %w", err)
	}
	return delay, nil
}

// unpark shows that the turn goes on.
func (w *walk) unpark() {
	if !w.parked {
		return
	}
	err := w.forgetParked()
	if err == nil {
		err = w.setStatus(contract.StatusRunning)
	}
	if err != nil {
		workflow.GetLogger(w.ctx).Warn("turn is still shown as parked", "error", err)
	}
}

// forgetParked takes what is shown of a parked turn away.
func (w *walk) forgetParked() error {
	if !w.parked {
		return nil
	}
	w.parked = false
	return workflow.UpsertMemo(w.ctx, map[string]any{contract.MemoParked: nil})
}

// wasParked tells whether the run before this one parked the turn.
func wasParked(ctx workflow.Context) bool {
	_, ok := workflow.GetInfo(ctx).Memo.GetFields()[contract.MemoParked]
	return ok
}
