// Package health keeps what is known of targets and keys: which of them cool down after failures, and which keys are refused. Replicas can
// share it.
package health

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Status is whether something is called.
type Status string

// Statuses. The zero value is Healthy.
const (
	// Healthy is called.
	Healthy Status = ""
	// Cooling is called again after a time: first once, and then as often as before if that call succeeds.
	Cooling Status = "cooling"
	// Dead is refused: it is not called until it is changed or reset, or until its time if it has one.
	Dead Status = "dead"
)

// Kinds of subjects.
const (
	// Target is a model of a provider.
	Target = "target"
	// Key is a key of a provider.
	Key = "key"
)

// Subject is a target or a key.
type Subject struct {
	// Kind is Target or Key.
	Kind string
	// Name is "provider/model" or "provider/alias".
	Name string
	// Mark changes with the secret of a key, so that a new one is not held to be refused.
	Mark string
}

// State is what is known of a subject.
type State struct {
	Subject Subject
	Status  Status
	// Until is when a subject is called again; zero = never, if it is dead.
	Until time.Time
	// Failures counts those in a row.
	Failures int
	// Reason is why it failed last.
	Reason string
	// Changed is when this was noted.
	Changed time.Time
}

const (
	// toleratedFailures in a row do not make a target cool down.
	toleratedFailures = 2
	// firstCooling and longestCooling bound how long a subject cools down if the provider does not say; it doubles with each failure.
	firstCooling   = 5 * time.Second
	longestCooling = 5 * time.Minute
	// trialTime is how long the outcome of the one call after cooling is waited for.
	trialTime = time.Minute
	// maxSubjects bounds what is kept. Those without failures go first.
	maxSubjects = 10_000
)

// Share connects a table with those of other replicas. Errors are its own matter: what is not shared is known in this process only.
type Share interface {
	// Tell publishes a state.
	Tell(State)
	// Claim asks for the one call after cooling of a subject in a state, over all replicas, whose outcome is waited for until a time. If it is
	// not given, the time is when the claim of another replica ends, and the state is a newer one if there is one.
	Claim(State, time.Time) Claim
	// Release ends a claim whose call says nothing about the subject.
	Release(State)
}

// Claim is the answer to a claim of the one call after cooling.
type Claim struct {
	// Given: the call may be made.
	Given bool
	// Until is when the claim of another replica ends, zero if there is none.
	Until time.Time
	// Newer is a newer state of the subject, nil if there is none.
	Newer *State
}

// Table keeps states. It is safe for concurrent use.
type Table struct {
	now   func() time.Time
	share Share

	mu     sync.Mutex
	states map[Subject]*entry
}

// entry is a state, and the one call that is made after cooling.
type entry struct {
	State
	trial time.Time // the outcome of a call is waited for until then
}

// New returns a table without states. share may be nil.
func New(now func() time.Time, share Share) *Table {
	return &Table{now: now, share: share, states: map[Subject]*entry{}}
}

// Admit reports whether a subject may be called; if not, from when on (zero = unknown). To a subject that has cooled down, one caller at a
// time is admitted, over all replicas: the time says until when its outcome is waited for, and it calls Failed, Refused, Worked or Release
// afterwards.
func (t *Table) Admit(s Subject) (ok bool, from time.Time) {
	ok, from, trial := t.admit(s)
	if !trial || t.share == nil {
		return ok, from
	}
	given := t.share.Claim(t.State(s), from)
	if given.Given {
		return true, from
	}
	if given.Newer != nil {
		t.Told(*given.Newer)
		ok, from, trial = t.admit(s)
		if !trial {
			return ok, from
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entry(s); given.Until.IsZero() {
		e.trial = t.now().Add(claimPause)
	} else {
		e.trial = given.Until
	}
	return false, t.entry(s).trial
}

// claimPause is how long a claim is not repeated that was refused without a time.
const claimPause = time.Second

// admit is Admit within this process. A trial is the one call after cooling.
func (t *Table) admit(s Subject) (ok bool, from time.Time, trial bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, now := t.entry(s), t.now()
	switch e.Status {
	case Dead, Cooling:
		if e.Status == Dead && (e.Until.IsZero() || now.Before(e.Until)) {
			return false, time.Time{}, false
		}
		if now.Before(e.Until) {
			return false, e.Until, false
		}
		if now.Before(e.trial) {
			return false, e.trial, false
		}
		e.trial = now.Add(trialTime)
		return true, e.trial, true
	}
	return true, time.Time{}, false
}

// State returns what is known of a subject.
func (t *Table) State(s Subject) State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry(s).State
}

// entry returns what is known of a subject. The caller holds the lock.
func (t *Table) entry(s Subject) *entry {
	e, ok := t.states[s]
	if ok {
		return e
	}
	e = &entry{State: State{Subject: s}}
	if len(t.states) >= maxSubjects {
		for k, old := range t.states {
			if old.Status == Healthy && old.Failures == 0 {
				delete(t.states, k)
			}
		}
	}
	t.states[s] = e
	return e
}

// Failed notes that a call of a subject failed and that another one may succeed. retryAfter is how long the provider asks to wait, 0 if it
// does not say.
func (t *Table) Failed(s Subject, reason string, retryAfter time.Duration) {
	t.change(s, func(e *entry, now time.Time) {
		e.Failures++
		e.Reason = reason
		if s.Kind == Key || retryAfter > 0 || e.Status == Cooling || e.Failures > toleratedFailures {
			e.Status, e.Until = Cooling, now.Add(cmp.Or(retryAfter, cooling(e.Failures)))
		}
	})
}

// Refused notes that a subject is refused, for a time or for good (0).
func (t *Table) Refused(s Subject, reason string, rest time.Duration) {
	t.change(s, func(e *entry, now time.Time) {
		e.Failures++
		e.Status, e.Reason, e.Until = Dead, reason, time.Time{}
		if rest > 0 {
			e.Until = now.Add(rest)
		}
	})
}

// cooling returns how long a subject cools down after failures in a row.
func cooling(failures int) time.Duration {
	return min(firstCooling<<min(max(failures-1, 0), 10), longestCooling)
}

// Worked notes that a call of a subject succeeded. rest is how long the provider takes no further calls, 0 if it does.
func (t *Table) Worked(s Subject, rest time.Duration) {
	t.mu.Lock()
	e, ok := t.states[s]
	quiet := ok && e.Status == Healthy && e.Failures == 0 && rest == 0
	t.mu.Unlock()
	if quiet {
		return
	}
	t.change(s, func(e *entry, now time.Time) {
		e.Status, e.Failures, e.Reason, e.Until = Healthy, 0, "", time.Time{}
		if rest > 0 {
			e.Status, e.Until, e.Reason = Cooling, now.Add(rest), "the provider's quota is used up"
		}
	})
}

// Release ends an admission whose call says nothing about the subject.
func (t *Table) Release(s Subject) {
	t.mu.Lock()
	e, ok := t.states[s]
	if !ok || e.trial.IsZero() {
		t.mu.Unlock()
		return
	}
	e.trial = time.Time{}
	released := e.State
	t.mu.Unlock()
	if t.share != nil && released.Status != Healthy {
		t.share.Release(released)
	}
}

// Reset forgets the failures of all subjects with a name. It reports whether there were any.
func (t *Table) Reset(name string) bool {
	found := false
	for _, s := range t.List() {
		if s.Subject.Name == name {
			found = true
			t.change(s.Subject, func(e *entry, _ time.Time) { e.State = State{Subject: s.Subject} })
		}
	}
	return found
}

// change changes a state and tells the replicas.
func (t *Table) change(s Subject, f func(*entry, time.Time)) {
	t.mu.Lock()
	e, now := t.entry(s), t.now()
	f(e, now)
	e.trial, e.Changed = time.Time{}, now
	told := e.State
	t.mu.Unlock()
	if t.share != nil {
		t.share.Tell(told)
	}
}

// States returns all that is known of subjects that have failed once, in no order. Those that are healthy again have a time of change.
func (t *Table) States() (out []State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.states {
		if !e.Changed.IsZero() {
			out = append(out, e.State)
		}
	}
	return out
}

// Told takes a state from another replica, unless this one knows something newer.
func (t *Table) Told(s State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.entry(s.Subject); e.Changed.Before(s.Changed) {
		e.State, e.trial = s, time.Time{}
	}
}

// List returns the subjects with failures, by kind and name.
func (t *Table) List() []State {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []State
	for _, e := range t.states {
		if e.Status != Healthy || e.Failures > 0 {
			out = append(out, e.State)
		}
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Subject.Kind, b.Subject.Kind), cmp.Compare(a.Subject.Name, b.Subject.Name),
			cmp.Compare(a.Subject.Mark, b.Subject.Mark))
	})
	return out
}
