// Package turn runs turns. A worker runs a turn ahead as soon as it is accepted. Its Temporal workflow follows: it joins the run briefly,
// then walks the steps that the engine names, each as one activity that joins, adopts or does its step. The workflow holds references
// only: what was said is in the journal. It is what a person reads in the Temporal UI, and what guarantees that somebody always goes on.
package turn

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/engine"
)

// Turn is the workflow of one turn. It ends when the finish step is in the journal, and fails only when that cannot be written.
func Turn(ctx workflow.Context, in contract.TurnInput) (contract.TurnResult, error) {
	w := newWalk(ctx, in)
	w.joinRun()
	return w.run()
}

// walk is the state of one turn's workflow.
type walk struct {
	// ctx outlives a cancel of the workflow: the end has to be written all the same.
	ctx workflow.Context
	// work is where steps run, until somebody stops them.
	work workflow.Context
	stop workflow.CancelFunc

	in        contract.TurnInput
	outcomes  []*turnv1.StepOutcome
	running   map[string]bool // by step key
	walked    map[string]bool // had an activity, by step key
	cancelled bool
	failure   *turnv1.TurnError
	finishErr error
	news      int           // rises whenever there is something new to decide on
	woken     int           // rises whenever somebody says that there is something new in the journal
	looked    int           // what of woken the last look has seen
	busy      int           // steps begun and questions asked in this run
	parked    bool          // it is still shown as parked
	showed    int64         // when the newest step was committed that the runs before have shown, Unix microseconds; 0 = not known
	behind    time.Duration // how much Temporal's clock is behind the database's, at least; negative when it is ahead
	timed     bool          // behind is known
	stayed    bool          // it has waited for as long as it stays before it parks, and there is nothing new
}

// newWalk listens for signals and cancels before anything else can block.
func newWalk(ctx workflow.Context, in contract.TurnInput) *walk {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	work, stop := workflow.WithCancel(detached)
	w := &walk{ctx: detached, work: work, stop: stop, in: in, running: map[string]bool{}, walked: map[string]bool{}, parked: in.Parked != "", showed: in.ShownMicros}
	w.in.Parked, w.in.ShownMicros = "", 0 // true of the run before only
	cancels := workflow.GetSignalChannelWithOptions(ctx, contract.SignalCancel, workflow.SignalChannelOptions{
		Description: "Stop the turn nicely: what was said so far is kept.",
	})
	wakes := workflow.GetSignalChannelWithOptions(ctx, contract.SignalWake, workflow.SignalChannelOptions{
		Description: "Look into the journal: somebody has answered, or has given the turn more input. A parked turn hears it by signal-with-start only.",
	})
	workflow.GoNamed(detached, "signals", func(waiting workflow.Context) {
		for {
			signals := workflow.NewSelector(waiting).AddReceive(wakes, func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(waiting, nil)
				w.woken++
			})
			if !w.cancelled {
				signals.AddReceive(cancels, func(c workflow.ReceiveChannel, _ bool) {
					c.Receive(waiting, nil)
					w.cancelled = true
				}).AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { w.cancelled = true })
			}
			signals.Select(waiting)
			w.news++
		}
	})
	return w
}

// run decides and does until nothing is left.
func (w *walk) run() (contract.TurnResult, error) {
	for {
		for w.woken > w.looked && !w.cancelled { // again, if somebody says so while the journal is read
			w.look()
			if w.in.ParkAfterMs == 0 { // begun by an earlier version, which looked once: its history has to replay
				break
			}
		}
		seen, decision := w.news, engine.Next(w.state())
		switch {
		case w.finishErr != nil:
			return contract.TurnResult{}, w.finishErr
		case decision.Done && len(w.running) == 0:
			return w.result(), w.publishStatus()
		case w.parks(decision), w.full(decision):
			if ready, err := w.renew(decision); ready || err != nil {
				return contract.TurnResult{}, err
			}
			continue
		case decision.Done: // the activities under way are about to adopt
		case decision.IsFinish() && len(w.running) > 0:
			// The end waits for what is under way. A cancel stops it; a limit or a failure lets it end by itself, for its effects
			// are real whether or not somebody reads the result.
			if decision.Steps[0].GetEnding().GetStatus() == turnv1.TurnStatus_TURN_STATUS_CANCELLED {
				w.stop()
			}
		default:
			for _, step := range decision.Steps {
				w.start(step)
			}
		}
		if err := w.await(decision, func() bool { return w.news > seen }); err != nil {
			return contract.TurnResult{}, err
		}
	}
}

func (w *walk) state() engine.State {
	return engine.State{Outcomes: w.outcomes, Now: w.now(), Cancelled: w.cancelled, Failure: w.failure}
}

// now is the time by which deadlines and waits are judged: the database's.
func (w *walk) now() time.Time { return workflow.Now(w.ctx).Add(w.behind) }

// learnTime takes the database's time from an activity's result. It was read a moment ago, so it is too early rather than too late; of all
// readings the one that came fastest counts. Histories of earlier versions have none.
func (w *walk) learnTime(p *turnv1.Progress) {
	if at := p.GetNowMicros(); at > 0 {
		if behind := time.UnixMicro(at).Sub(workflow.Now(w.ctx)); !w.timed || behind > w.behind {
			w.behind, w.timed = behind, true
		}
	}
}

// start does a step beside the others, unless it is under way.
func (w *walk) start(step *turnv1.StepRef) {
	if w.running[step.GetKey()] {
		return
	}
	w.busy++
	w.unpark()
	w.running[step.GetKey()], w.walked[step.GetKey()] = true, true
	w.describe()
	workflow.GoNamed(w.ctx, step.GetKey(), func(ctx workflow.Context) {
		out, err := w.do(ctx, step)
		w.learnTime(out)
		delete(w.running, step.GetKey())
		w.record(step, out.GetOutcomes(), err)
		w.news++
		w.describe()
	})
}

// record takes what became of a step. A step that was stopped leaves nothing if it had not come to anything; a step that cannot be done
// at all fails the turn.
func (w *walk) record(step *turnv1.StepRef, outcomes []*turnv1.StepOutcome, err error) {
	switch {
	case err == nil:
		if !has(outcomes, step.GetKey()) { // the turn goes on instead
			delete(w.walked, step.GetKey())
		}
		for _, o := range outcomes {
			w.learn(o)
		}
	case step.GetKind() == turnv1.StepKind_STEP_KIND_FINISH:
		w.finishErr = err
	case w.work.Err() != nil:
		workflow.GetLogger(w.ctx).Debug("step stopped", "step", step.GetKey(), "error", err)
	case w.failure == nil:
		w.failure = failureOf(err)
	}
}

// learn takes an outcome, once. A step that no activity of this workflow stands for is shown by a marker.
func (w *walk) learn(o *turnv1.StepOutcome) {
	if has(w.outcomes, o.GetKey()) {
		return
	}
	w.outcomes = append(w.outcomes, o)
	if !w.walked[o.GetKey()] {
		w.mark(o)
	}
}

func has(outcomes []*turnv1.StepOutcome, key string) bool {
	return slices.ContainsFunc(outcomes, func(o *turnv1.StepOutcome) bool { return o.GetKey() == key })
}

// since is when the newest known step was committed: what came later is not known here.
func (w *walk) since() int64 {
	var newest int64
	for _, o := range w.outcomes {
		newest = max(newest, o.GetCommittedMicros())
	}
	return newest
}

// remaining is how long a step may take: until the turn's deadline, and a little to write down that it passed.
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
