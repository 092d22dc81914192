package engine

import (
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// MaxRounds bounds how often one tool call may wait. A call that still asks for something then fails.
const MaxRounds = 20

// ForPeople reports whether a wait is for a person, so that the turn's time is paused. That for a sub-agent is not, but the sessions
// service records a pause while the sub-agent waits for people.
func ForPeople(kind turnv1.WaitKind) bool { return kind != turnv1.WaitKind_WAIT_KIND_CHILD }

// tools returns the calls of the newest model step that have no result: those to be run, in the model's order, and the waits of the others.
func (t record) tools() (pending []*turnv1.StepRef, waiting []*turnv1.WaitRef) {
	for m, call := range t.last().GetCalls() {
		step, wait := t.round(stepkey.Tool(len(t.infers), m), call)
		if wait != nil {
			waiting = append(waiting, wait)
		} else if step != nil {
			pending = append(pending, step)
		}
	}
	return pending, waiting
}

// round returns the step of a call's next round, or what the call waits for, or neither when it has its result.
func (t record) round(key string, call *turnv1.ToolCallRef) (*turnv1.StepRef, *turnv1.WaitRef) {
	step := &turnv1.StepRef{Key: key, Kind: turnv1.StepKind_STEP_KIND_TOOL, Title: "tool " + call.GetTool(), Call: call}
	step.Routed = t.handsOver()
	for r := 1; ; r++ {
		if r > 1 {
			step.Key, step.Round = stepkey.Round(key, r), uint32(r)
		}
		done := t.byKey[step.GetKey()]
		switch {
		case done == nil:
			return step, nil
		case done.GetWait() == nil:
			return nil, nil
		case t.byKey[stepkey.Wait(step.GetKey())] == nil:
			return nil, done.GetWait()
		}
		step.Wait = done.GetWait()
	}
}

// result returns the outcome of the round that ended a call, given the key of its first round; nil if there is none yet.
func (t record) result(key string) *turnv1.StepOutcome {
	for r := 1; ; r++ {
		if done := t.byKey[stepkey.Round(key, r)]; done.GetWait() == nil {
			return done
		}
	}
}

// handsOver reports whether the newest model step hands a routed turn over to an agent, whose answer becomes the turn's.
func (t record) handsOver() bool {
	calls := t.last().GetCalls()
	return t.strategy() == turnv1.Strategy_STRATEGY_ROUTE && len(t.infers) == 1 && len(calls) == 1 &&
		strings.HasPrefix(calls[0].GetTool(), contract.AgentToolPrefix)
}

// routed reports whether a routed turn has its answer: the chosen agent's, or the model's own. If the agent failed, the model goes on as
// with the react strategy.
func (t record) routed() bool {
	if !t.handsOver() {
		return len(t.last().GetCalls()) == 0
	}
	done := t.result(stepkey.Tool(1, 0))
	return done != nil && !done.GetIsError()
}

// inputs counts the inputs that were accepted while the turn runs.
func (t record) inputs() uint32 {
	n := uint32(0)
	for t.byKey[stepkey.Steer(int(n)+1)] != nil {
		n++
	}
	return n
}

// inputRead reports whether the newest model step has read all input that was accepted while the turn runs.
func (t record) inputRead() bool { return t.last().GetInputs() >= t.inputs() }

// Inputs counts the inputs among the outcomes that were accepted while the turn runs.
func Inputs(outcomes []*turnv1.StepOutcome) uint32 {
	n := uint32(0)
	for _, o := range outcomes {
		if o.GetKind() == turnv1.StepKind_STEP_KIND_STEER {
			n++
		}
	}
	return n
}
