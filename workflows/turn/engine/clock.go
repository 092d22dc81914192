package engine

import (
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// clock is the time of a turn. It is paused while the turn, or a sub-agent that it waits for, waits for a person.
type clock struct{ record }

// paused reports whether the turn, or a sub-agent that it waits for, waits for a person, so that its time does not run.
func (t clock) paused() bool {
	_, waiting := t.tools()
	for _, w := range waiting {
		if ForPeople(w.GetKind()) {
			return true
		}
	}
	for _, o := range t.all {
		if end := stepkey.Resume(o.GetKey()); end != "" && t.byKey[end] == nil {
			return true
		}
	}
	return false
}

// wake is when the first of some waits expires, or the turn's time is up if it is not paused; zero = never.
func (t clock) wake(waiting []*turnv1.WaitRef) time.Time {
	first := int64(0)
	if !t.paused() {
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

// deadline is when the turn must end, Unix microseconds, 0 = never: the surface's deadline, moved by the waits for people.
func (t clock) deadline() int64 {
	at := t.surface().GetDeadlineMicros()
	for _, o := range t.all {
		at = max(at, o.GetDeadlineMicros())
	}
	return at
}

// pausedSince is when the turn's time stopped, Unix microseconds; 0 when it runs. Waits for people that overlap are one pause.
func (t clock) pausedSince() int64 {
	type pause struct{ from, to int64 } // to 0 = still open
	var pauses []pause
	since := int64(0)
	for _, o := range t.all {
		end := stepkey.Resume(o.GetKey())
		if w := o.GetWait(); w != nil && ForPeople(w.GetKind()) {
			end = stepkey.Wait(o.GetKey())
		}
		if end == "" {
			continue
		}
		p := pause{o.GetCommittedMicros(), t.byKey[end].GetCommittedMicros()}
		pauses = append(pauses, p)
		if p.to == 0 && (since == 0 || p.from < since) {
			since = p.from
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

// withDeadline sets the deadline of the turn in the steps of a decision, unless it is the surface's. While the turn's time is paused a step
// has all the time that is left.
func (t clock) withDeadline(d Decision, now time.Time) Decision {
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

// deadlinePassed reports whether the turn's time is up, by the clock or because a tool was cut off by it.
func (t clock) deadlinePassed(now time.Time) bool {
	if at := t.deadline(); at > 0 && now.UnixMicro() >= at && !t.paused() {
		return true
	}
	for _, o := range t.all {
		if o.GetError().GetCode() == CodeDeadline {
			return true
		}
	}
	return false
}

// Deadline is when a turn with these outcomes must end; the zero time before it has begun.
func Deadline(outcomes []*turnv1.StepOutcome) time.Time {
	if at := (clock{read(outcomes)}).deadline(); at > 0 {
		return time.UnixMicro(at)
	}
	return time.Time{}
}
