package factbook

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Correction is what a user changes of a fact; nil leaves a field.
type Correction struct {
	Text, Value        *string
	ValidFrom, ValidTo *time.Time
	// State is store.FactActive to accept a proposal, store.FactRejected to reject it, "" to leave it.
	State string
}

// restates reports whether it changes what a fact states.
func (c Correction) restates() bool { return c.Text != nil || c.Value != nil || c.ValidFrom != nil }

// Correct changes a fact for its user. A fact that is stated again supersedes the one before, and is returned.
func (b *Book) Correct(ctx context.Context, o store.Owner, id string, c Correction) (store.Fact, error) {
	now := b.rows.Now()
	var out store.Fact
	err := b.rows.ChangeMemory(ctx, o, func(m store.Memory) (store.FactChange, error) {
		f, err := find(m, id)
		if err != nil {
			return store.FactChange{}, err
		}
		change, after, err := correct(m.Facts, f, c, now)
		out = after
		if err == nil && after.State == store.FactActive {
			change.Unmark = []string{b.marker.mark(o, after)}
		}
		return change, err
	})
	if errors.Is(err, errNothing) {
		return out, nil
	}
	return out, err
}

// correct returns what a correction changes, and the fact afterwards.
func correct(facts []store.Fact, f store.Fact, c Correction, now time.Time) (store.FactChange, store.Fact, error) {
	proposed := f.State == store.FactProposed
	switch {
	case c.State == store.FactRejected && proposed && !c.restates():
		f.State, f.UpdateTime = store.FactRejected, now
		return store.FactChange{Update: []store.Fact{f}}, f, nil
	case f.State != store.FactActive && !proposed,
		c.State != "" && c.State != store.FactActive,
		proposed && c.State == "" && !c.restates() && c.ValidTo != nil:
		return store.FactChange{}, f, errState(f)
	case !c.restates() && !proposed:
		return until(f, c, now)
	case !c.restates() && c.State == "":
		return store.FactChange{}, f, errNothing
	}
	n, err := restated(f, c, now)
	if err != nil {
		return store.FactChange{}, f, err
	}
	var d decision
	if c.restates() && proposed { // what was proposed was wrong
		d = decide(without(facts, f.ID), n, c.ValidFrom != nil)
		d.change.Erase = append(d.change.Erase, f.ID)
	} else if c.restates() {
		d = corrected(facts, f, n)
	} else {
		n.ID, n.CreateTime = f.ID, f.CreateTime
		d = decide(facts, n, false)
		if d.outcome == Known { // it is active already
			d.change.Erase = append(d.change.Erase, f.ID)
		}
	}
	if d.outcome == Full {
		return store.FactChange{}, f, errFull()
	}
	return d.change, d.fact, nil
}

// corrected replaces an active fact by what its user says instead.
func corrected(facts []store.Fact, f, n store.Fact) decision {
	n.State = store.FactActive
	d := decision{outcome: Remembered, fact: n, change: store.FactChange{Update: []store.Fact{superseded(f, n)}}}
	d.change.Erase = append(confirmed(facts, n), beyond(facts, n, maxPast-1)...)
	return d.added(facts, n)
}

// until changes when an active fact ends to be true.
func until(f store.Fact, c Correction, now time.Time) (store.FactChange, store.Fact, error) {
	if c.ValidTo == nil {
		return store.FactChange{}, f, errNothing
	}
	f.ValidTo, f.UpdateTime = *c.ValidTo, now
	return store.FactChange{Update: []store.Fact{f}}, f, check(f)
}

// restated returns the fact that a user states in place of another one, or accepts.
func restated(f store.Fact, c Correction, now time.Time) (store.Fact, error) {
	n := f
	n.ID, n.Trust, n.SupersededBy, n.CreateTime, n.UpdateTime = ids.New(ids.Fact), store.OfUser, "", now, now
	switch {
	case c.Text != nil && c.Value != nil:
		n.Text, n.Value = strings.TrimSpace(*c.Text), strings.TrimSpace(*c.Value)
	case c.Text != nil:
		n.Text = strings.TrimSpace(*c.Text)
		if n.Attribute != "" { // the value before no longer says the same
			n.Value = n.Text
		}
	case c.Value != nil:
		n.Value = strings.TrimSpace(*c.Value)
		n.Text = sentence(n)
	}
	if c.restates() {
		n.SessionID, n.TurnID, n.CallID, n.Tainted, n.ValidFrom = "", "", "", false, now
	}
	if c.ValidFrom != nil {
		n.ValidFrom = *c.ValidFrom
	}
	if c.ValidTo != nil {
		n.ValidTo = *c.ValidTo
	}
	return n, check(n)
}

// without returns the facts but one.
func without(facts []store.Fact, id string) (out []store.Fact) {
	for _, f := range facts {
		if f.ID != id {
			out = append(out, f)
		}
	}
	return out
}
