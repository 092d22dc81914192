package engine

import (
	"strings"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// MaxRounds bounds how often one tool call may wait. A call that still asks for something then fails.
const MaxRounds = 20

// ForPeople reports whether a wait is for somebody, so that the turn's time does not run meanwhile.
func ForPeople(kind turnv1.WaitKind) bool { return kind != turnv1.WaitKind_WAIT_KIND_CHILD }

// tools sorts the calls of the newest model step that have no result: those to be run, in the model's order, and the waits of the others.
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

// round says where a call stands: the step of its next round, or what it waits for, or neither when it has its result.
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

// result is the outcome of the round that ended a call, given the key of its first round; nil while it has none.
func (t record) result(key string) *turnv1.StepOutcome {
	for r := 1; ; r++ {
		if done := t.byKey[stepkey.Round(key, r)]; done.GetWait() == nil {
			return done
		}
	}
}

// handsOver reports whether the newest model step gives a routed turn to an agent, whose answer is the turn's.
func (t record) handsOver() bool {
	calls := t.last().GetCalls()
	return t.strategy() == turnv1.Strategy_STRATEGY_ROUTE && len(t.infers) == 1 && len(calls) == 1 &&
		strings.HasPrefix(calls[0].GetTool(), contract.AgentToolPrefix)
}

// routed reports whether a routed turn has its answer: the chosen agent's, or the model's own. When the agent failed the model goes on as in
// react.
func (t record) routed() bool {
	if !t.handsOver() {
		return len(t.last().GetCalls()) == 0
	}
	done := t.result(stepkey.Tool(1, 0))
	return done != nil && !done.GetIsError()
}

// resting reports whether a person is waited for, so that the turn's time does not run.
func (t record) resting() bool {
	_, waiting := t.tools()
	for _, w := range waiting {
		if ForPeople(w.GetKind()) {
			return true
		}
	}
	return false
}

// wake is when the first of some waits expires, or the turn's time is up if that runs; zero = never.
func (t record) wake(waiting []*turnv1.WaitRef) time.Time {
	first := int64(0)
	if !t.resting() {
		first = t.deadline()
	}
	for _, w := range waiting {
		if at := w.GetExpireMicros(); at > 0 && (first == 0 || at < first) {
			first = at
		}
	}
	if first == 0 {
		return time.Time{}
	}
	return time.UnixMicro(first)
}

// deadline is when the turn must end, Unix microseconds, 0 = never: the surface's, as waits have moved it.
func (t record) deadline() int64 {
	at := t.surface().GetDeadlineMicros()
	for _, o := range t.all {
		at = max(at, o.GetDeadlineMicros())
	}
	return at
}

// pausedSince is when the turn's time stopped, Unix microseconds; 0 when it runs. Waits for people that overlap are one pause.
func (t record) pausedSince() int64 {
	type pause struct{ from, to int64 } // to 0 = still open
	var pauses []pause
	since := int64(0)
	for _, o := range t.all {
		if w := o.GetWait(); w != nil && ForPeople(w.GetKind()) {
			p := pause{o.GetCommittedMicros(), t.byKey[stepkey.Wait(o.GetKey())].GetCommittedMicros()}
			pauses = append(pauses, p)
			if p.to == 0 && (since == 0 || p.from < since) {
				since = p.from
			}
		}
	}
	for again := since > 0; again; {
		again = false
		for _, p := range pauses {
			if p.from < since && p.to >= since {
				since, again = p.from, true
			}
		}
	}
	return since
}

// withDeadline tells the steps of a decision when the turn must end, where that is not what the surface says. While the turn's time
// stands still a step has as much of it as is left.
func (t record) withDeadline(d Decision, now time.Time) Decision {
	at := t.deadline()
	if since := t.pausedSince(); d.Waiting && at > 0 && since > 0 {
		at += max(now.UnixMicro()-since, 0)
	}
	if at != t.surface().GetDeadlineMicros() {
		for _, step := range d.Steps {
			step.DeadlineMicros = at
		}
	}
	return d
}

// inputs counts the inputs that were accepted while the turn runs.
func (t record) inputs() uint32 {
	n := uint32(0)
	for t.byKey[stepkey.Steer(int(n)+1)] != nil {
		n++
	}
	return n
}

// heard reports whether the newest model step has read all input that was accepted while the turn runs.
func (t record) heard() bool { return t.last().GetInputs() >= t.inputs() }

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

// Deadline is when a turn with these outcomes must end; the zero time before it has begun.
func Deadline(outcomes []*turnv1.StepOutcome) time.Time {
	if at := read(outcomes).deadline(); at > 0 {
		return time.UnixMicro(at)
	}
	return time.Time{}
}
