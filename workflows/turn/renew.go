package turn

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// full tells whether this run should end here for another one with an empty history: the server says that the history is long, and nothing is
// under way that would be lost. A run that has done nothing yet goes on whatever its history is, so that there is progress in each.
func (w *walk) full(decision engine.Decision) bool {
	return w.busy > 0 && len(w.running) == 0 && !decision.Done && !decision.IsFinish() && !w.cancelled && w.failure == nil &&
		workflow.GetInfo(w.ctx).GetContinueAsNewSuggested()
}

// renew goes on with a new history, at once or when the turn is no longer parked. Nothing is handed over: what happened is in the journal, which
// the new run reads at its glance. False means that a signal came meanwhile that has to be heeded first.
func (w *walk) renew(decision engine.Decision) (bool, error) {
	seen, heard := w.news, false
	// A coroutine that is begun now runs after the one that hears signals, so those of this task are known then. Those that come later
	// have the server refuse the end of this run.
	workflow.GoNamed(w.ctx, "heard", func(workflow.Context) { heard = true })
	if err := workflow.Await(w.ctx, func() bool { return heard }); err != nil {
		return false, err
	}
	if w.cancelled || w.news > seen {
		w.stayed = false
		return false, nil
	}
	if !w.parks(decision) {
		return true, workflow.NewContinueAsNewError(w.ctx, contract.TurnWorkflow, w.in)
	}
	return true, w.park(decision)
}

// inherited shows the steps of the runs before this one as one marker.
func (w *walk) inherited() {
	n := len(w.outcomes)
	workflow.SideEffectWithOptions(w.ctx, workflow.SideEffectOptions{Summary: fmt.Sprintf("goes on after %d steps", n)},
		func(workflow.Context) any { return n })
}
