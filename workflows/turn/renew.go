package turn

import (
	"time"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// full reports whether this run should continue as new: the server says that the history is long, and nothing is running that would be
// lost. A run that has done nothing yet continues whatever its history is, so that each run makes progress.
func (w *walk) full(decision engine.Decision) bool {
	return w.busy > 0 && len(w.running) == 0 && !decision.Done && !decision.IsFinish() && !w.signals.cancelled && w.failure == nil &&
		workflow.GetInfo(w.ctx).GetContinueAsNewSuggested()
}

// renew continues as new, at once or when the turn is no longer parked. No state is passed on: it is in the journal, which the new run
// reads when it starts. It returns false if a signal arrived that must be handled first.
func (w *walk) renew(decision engine.Decision) (bool, error) {
	seen := w.changes()
	if err := w.signals.drain(w.ctx); err != nil {
		return false, err
	}
	if w.signals.cancelled || w.changes() > seen {
		w.idled = false
		return false, nil
	}
	if !w.parks(decision) {
		if err := w.setWaiting(false); err != nil { // the next run begins with the attributes of this one
			return false, err
		}
		return true, workflow.NewContinueAsNewError(w.ctx, contract.TurnWorkflow, w.next())
	}
	return true, w.park(decision)
}

// next is the input of the next run.
func (w *walk) next() contract.TurnInput {
	next := w.in
	if newest := w.outcomes.Newest(); newest > 0 {
		next.ShownUntil = time.UnixMicro(newest).UTC()
	}
	return next
}

// joinRun waits briefly for the eager run of the turn, which may be under way already, and records its outcomes. Without them the workflow
// runs the steps.
func (w *walk) joinRun() {
	if w.parked && w.signals.drain(w.ctx) == nil {
		w.signals.handle() // the journal is read here
	}
	out, err := w.steps.join()
	if err != nil {
		workflow.GetLogger(w.ctx).Debug("the eager run was not joined", "error", err)
	}
	w.clock.set(w.ctx, out)
	continued := workflow.GetInfo(w.ctx).ContinuedExecutionRunID != ""
	for _, o := range out.GetOutcomes() {
		if continued && w.shown(o) {
			w.walked[o.GetKey()] = true
			w.add(o)
		}
	}
	if continued {
		markContinued(w.ctx, len(w.outcomes))
	}
	for _, o := range out.GetOutcomes() {
		w.add(o)
	}
	w.describe()
}

// shown reports whether an earlier run has shown a step.
func (w *walk) shown(o *turnv1.StepOutcome) bool {
	return !time.UnixMicro(o.GetCommittedMicros()).After(w.shownUntil)
}
