package turn

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// leastWait keeps a turn from asking again and again to expire a wait whose time is not up yet by the sessions service's clock.
const leastWait = time.Second

// await waits until changed reports true, shows whether the turn waits for people, and ends the waits whose time is up in the meantime.
func (w *walk) await(decision engine.Decision, changed func() bool) error {
	// The inputs of the first histories have no park_after, and these no event for a wait.
	if w.in.ParkAfter > 0 && decision.Waiting && len(decision.Steps) == 0 && len(w.running) == 0 {
		if err := w.setWaiting(decision.Paused); err != nil {
			return err
		}
	}
	if delay, parks := w.parkDelay(decision); parks {
		ok, err := workflow.AwaitWithOptions(w.ctx, workflow.AwaitOptions{
			Timeout: delay, TimerOptions: workflow.TimerOptions{Summary: "park if nothing happens"},
		}, changed)
		w.idled = err == nil && !ok
		return err
	}
	if !decision.Waiting || decision.Wake.IsZero() {
		return workflow.Await(w.ctx, changed)
	}
	if w.expiredWhileParked(decision) {
		w.expire()
		return nil
	}
	in := max(decision.Wake.Sub(w.now()), leastWait)
	ok, err := workflow.AwaitWithOptions(w.ctx, workflow.AwaitOptions{
		Timeout: in, TimerOptions: workflow.TimerOptions{Summary: "until " + decision.Wake.UTC().Format(time.RFC3339)},
	}, changed)
	if err == nil && !ok {
		w.expire()
	}
	return err
}

// look reads the outcomes that are new in the journal.
func (w *walk) look() {
	var act *Activities
	w.read("read the journal", act.ReadJournal)
}

// expire ends the waits whose time is up, and reads the outcomes that are new.
func (w *walk) expire() {
	var act *Activities
	w.read("expire waits", act.Expire)
}

// read runs one of both. An error that is final fails the turn.
func (w *walk) read(summary string, activity any) {
	w.signals.handle()
	w.busy++
	out, err := w.steps.read(summary, activity, w.outcomes.Keys())
	if err != nil && w.failure == nil {
		w.failure = failureOf(err)
	}
	w.clock.set(w.ctx, out)
	for _, o := range out.GetOutcomes() {
		w.add(o)
	}
	w.describe()
}
