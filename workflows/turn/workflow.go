// Package turn runs turns. A worker starts an eager run of a turn as soon as it is accepted. The turn's Temporal workflow follows: it joins
// that run briefly, then walks the steps that the engine names, each as one activity that joins, adopts or runs its step. The workflow
// holds references only: the conversation is in the journal. It is what the Temporal UI shows, and what guarantees that a turn completes
// whichever workers fail.
package turn

import (
	"time"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// Turn is the workflow of one turn. It closes when the finish step is in the journal: completed, failed or canceled like the turn. The type
// of its failure is the code of the turn's error; another type means that the end of the turn could not be written.
func Turn(ctx workflow.Context, in contract.TurnInput) (contract.TurnResult, error) {
	if in.Ended != nil {
		return record(ctx, in)
	}
	w := newWalk(ctx, in)
	w.joinRun()
	return w.run()
}

// walk is the state of one turn's workflow.
type walk struct {
	// ctx outlives a cancel of the workflow: the end has to be written all the same.
	ctx workflow.Context
	// steps runs in a context of its own, so that it can be stopped.
	steps   stepRunner
	signals *signals
	clock   clock

	in        contract.TurnInput
	outcomes  stepview.Outcomes
	running   map[string]bool // by step key
	walked    map[string]bool // had an activity, by step key
	completed int             // step activities that have returned
	busy      int             // steps and journal reads started in this run
	failure   *turnv1.TurnError
	finishErr error
	parked    bool // until this run began
	waiting   bool // the status attribute says so
	idled     bool // it has waited as long as it does before it parks, and nothing has changed

	shownUntil time.Time // when the newest step was committed that earlier runs have shown
}

// newWalk receives signals and cancels before anything else can block.
func newWalk(ctx workflow.Context, in contract.TurnInput) *walk {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	work, stop := workflow.WithCancel(detached)
	w := &walk{
		ctx: detached, in: in, running: map[string]bool{}, walked: map[string]bool{}, parked: in.Parked != "", waiting: in.Parked != "",
		shownUntil: in.ShownUntil,
	}
	w.in.Parked, w.in.ShownUntil = "", time.Time{} // true of the run before only
	w.steps = stepRunner{ctx: detached, work: work, stop: stop, in: w.in}
	w.signals = receiveSignals(ctx, detached)
	return w
}

// run decides and runs steps until nothing is left.
func (w *walk) run() (contract.TurnResult, error) {
	for {
		for w.signals.pending() && !w.signals.cancelled { // again, if another wake arrives while the journal is read
			w.look()
		}
		seen, decision := w.changes(), engine.Next(w.state())
		switch {
		case w.finishErr != nil:
			return contract.TurnResult{}, w.finishErr
		case decision.Done && len(w.running) == 0:
			return w.close()
		case w.parks(decision), w.full(decision):
			if ready, err := w.renew(decision); ready || err != nil {
				return contract.TurnResult{}, err
			}
			continue
		case decision.Done: // the activities under way are about to adopt
		case decision.IsFinish() && len(w.running) > 0:
			// The end waits for what is under way. A cancel stops it; after a limit or a failure it runs to completion, because its
			// effects are real whether or not the result is read.
			if decision.Steps[0].GetEnding().GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED {
				w.steps.stop()
			}
		default:
			for _, step := range decision.Steps {
				w.start(step)
			}
		}
		if err := w.await(decision, func() bool { return w.changes() > seen }); err != nil {
			return contract.TurnResult{}, err
		}
	}
}

func (w *walk) state() engine.State {
	return engine.State{Outcomes: w.outcomes, Now: w.now(), Cancelled: w.signals.cancelled, Failure: w.failure}
}

func (w *walk) now() time.Time { return w.clock.now(w.ctx) }

// changes increases whenever there is something new to decide on.
func (w *walk) changes() int { return w.signals.received + w.completed }

// start runs a step beside the others, unless it is running.
func (w *walk) start(step *turnv1.StepRef) {
	if w.running[step.GetKey()] {
		return
	}
	w.busy++
	if err := w.setWaiting(false); err != nil {
		workflow.GetLogger(w.ctx).Warn("turn is still shown as waiting", "error", err)
	}
	w.running[step.GetKey()], w.walked[step.GetKey()] = true, true
	w.describe()
	workflow.GoNamed(w.ctx, step.GetKey(), func(ctx workflow.Context) {
		out, err := w.steps.run(ctx, step, w.outcomes.Newest(), w.remaining)
		w.clock.set(ctx, out)
		delete(w.running, step.GetKey())
		w.complete(step, out.GetOutcomes(), err)
		w.completed++
		w.describe()
	})
}

// complete records the result of a step. A step that was stopped has no outcome if it had produced nothing; one that cannot be run at all
// fails the turn.
func (w *walk) complete(step *turnv1.StepRef, outcomes []*turnv1.StepOutcome, err error) {
	switch {
	case err == nil:
		if !stepview.Outcomes(outcomes).Has(step.GetKey()) { // the turn continues instead
			delete(w.walked, step.GetKey())
		}
		for _, o := range outcomes {
			w.add(o)
		}
	case step.GetKind() == turnv1.StepKind_STEP_KIND_FINISH:
		w.finishErr = err
	case w.steps.stopped():
		workflow.GetLogger(w.ctx).Debug("step stopped", "step", step.GetKey(), "error", err)
	case w.failure == nil:
		w.failure = failureOf(err)
	}
}

// add records an outcome, once. A step that no activity of this workflow stands for is shown by a marker.
func (w *walk) add(o *turnv1.StepOutcome) {
	if w.outcomes.Has(o.GetKey()) {
		return
	}
	w.outcomes = append(w.outcomes, o)
	if !w.walked[o.GetKey()] {
		mark(w.ctx, w.outcomes, o)
	}
}

// remaining is how long a step may take: until the turn's deadline, and a little to record that it has passed.
func (w *walk) remaining(step *turnv1.StepRef) time.Duration {
	deadline := engine.Deadline(w.outcomes)
	if at := step.GetDeadlineMicros(); at > 0 {
		deadline = time.UnixMicro(at)
	}
	if deadline.IsZero() {
		return beginPatience
	}
	return max(deadline.Sub(w.now()), 0) + deadlineGrace
}
