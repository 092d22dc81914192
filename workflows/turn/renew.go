package turn

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// full reports whether this run should end here for another one with an empty history: the server says that the history is long, and nothing is
// under way that would be lost. A run that has done nothing yet goes on whatever its history is, so that there is progress in each.
func (w *walk) full(decision engine.Decision) bool {
	return w.busy > 0 && len(w.running) == 0 && !decision.Done && !decision.IsFinish() && !w.cancelled && w.failure == nil &&
		workflow.GetInfo(w.ctx).GetContinueAsNewSuggested()
}

// renew goes on with a new history, at once or when the turn is no longer parked. Nothing is handed over: what happened is in the journal, which
// the new run reads when it starts. It returns false if a signal arrived meanwhile that must be handled first.
func (w *walk) renew(decision engine.Decision) (bool, error) {
	seen := w.news
	if err := w.hear(); err != nil {
		return false, err
	}
	if w.cancelled || w.news > seen {
		w.stayed = false
		return false, nil
	}
	if !w.parks(decision) {
		return true, workflow.NewContinueAsNewError(w.ctx, contract.TurnWorkflow, w.next())
	}
	return true, w.park(decision)
}

// next is the input of the next run.
func (w *walk) next() contract.TurnInput {
	next := w.in
	next.ShownMicros = w.since()
	return next
}

// hear takes the signals of this task. Those that come later have the server refuse the end of this run.
func (w *walk) hear() error {
	heard := false
	// A coroutine that is begun now runs after the one that hears signals.
	workflow.GoNamed(w.ctx, "heard", func(workflow.Context) { heard = true })
	return workflow.Await(w.ctx, func() bool { return heard })
}

// shown reports whether a run before this one has shown a step. One that was begun by an earlier version does not know, and takes all for shown.
func (w *walk) shown(o *turnv1.StepOutcome) bool {
	return w.continued() && (w.showed == 0 || o.GetCommittedMicros() <= w.showed)
}

func (w *walk) continued() bool { return workflow.GetInfo(w.ctx).ContinuedExecutionRunID != "" }

// inherited shows the steps of the runs before this one as one marker.
func (w *walk) inherited() {
	n := len(w.outcomes)
	workflow.SideEffectWithOptions(w.ctx, workflow.SideEffectOptions{Summary: fmt.Sprintf("goes on after %d steps", n)},
		func(workflow.Context) any { return n })
}
