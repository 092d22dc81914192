// Package engine decides what a turn does next. A decision is a pure function of what is recorded: no clock, no I/O, no Temporal. So a
// workflow can replay it, a worker can run ahead with it, and a test can try millions of turns.
package engine

import (
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// Stop reasons of a turn, see windlass.turn.v1.TurnEnded.
const (
	StopEnd           = "end"
	StopMaxSteps      = "max_steps"
	StopMaxTokens     = "max_tokens"
	StopDeadline      = "deadline"
	StopContentFilter = "content_filter"
	StopRepetition    = "repetition"
	StopBudget        = "budget"
	StopCancelled     = "cancelled"
	StopError         = "error"
)

// CodeDeadline is the error code of a step that the turn's deadline cut off.
const CodeDeadline = "deadline_exceeded"

// State is all that a decision depends on.
type State struct {
	// Outcomes of the steps that are done, in any order.
	Outcomes []*turnv1.StepOutcome
	// Now is the time at which to decide.
	Now time.Time
	// Cancelled means that a cancel was requested.
	Cancelled bool
	// Failure is why a step could not be run at all, so that it has no outcome. Nil normally.
	Failure *turnv1.TurnError
}

// Decision is what to do.
type Decision struct {
	// Steps that should be running now, in order, including those that already are. A finish step is always alone, and is started only
	// after all others have ended: stop what is still running, then decide again.
	Steps []*turnv1.StepRef
	// Done means that the finish step is recorded and nothing is left to do.
	Done bool
	// Waiting means that a wait has to be answered before anything but the Steps can be done. With no step running the turn is idle.
	Waiting bool
	// Paused means that a person has to answer the turn, or a sub-agent that it waits for, so that its time does not run. Only set with
	// Waiting.
	Paused bool
	// Wake is when a wait expires or the turn's time is up, if there is no answer before; zero = never. Decide again then, after the waits
	// that have expired were ended. Only set with Waiting.
	Wake time.Time
}

// Next decides. It never names a step that has an outcome, and never more tools than the surface allows at the same time.
func Next(s State) Decision {
	t := read(s.Outcomes)
	if t.finish != nil {
		return Decision{Done: true}
	}
	if ending := t.ending(s); ending != nil {
		return one(&turnv1.StepRef{
			Key: stepkey.Finish, Kind: turnv1.StepKind_STEP_KIND_FINISH, Title: "finish", Ending: ending, Inputs: t.inputs(),
		})
	}
	switch {
	case t.begin == nil:
		return one(&turnv1.StepRef{Key: stepkey.Begin, Kind: turnv1.StepKind_STEP_KIND_BEGIN, Title: "begin"})
	case t.selecting():
		return one(t.fitting(selectRef()))
	}
	pending, waiting := t.tools()
	d := Decision{Waiting: len(waiting) > 0}
	if d.Waiting {
		d.Paused, d.Wake = clock{t}.paused(), clock{t}.wake(waiting)
	}
	switch {
	case len(pending) > 0:
		d.Steps = pending[:min(len(pending), max(int(t.surface().GetMaxParallelTools()), 1))]
	case d.Waiting:
	case t.strategy() == turnv1.Strategy_STRATEGY_PLAN:
		d = one(t.fitting(planned{t}.next()))
	default:
		d = one(t.fitting(t.inferRef()))
	}
	return clock{t}.withDeadline(d, s.Now)
}

// IsFinish reports whether the decision is to end the turn.
func (d Decision) IsFinish() bool {
	return len(d.Steps) == 1 && d.Steps[0].GetKind() == turnv1.StepKind_STEP_KIND_FINISH
}

func one(step *turnv1.StepRef) Decision { return Decision{Steps: []*turnv1.StepRef{step}} }
