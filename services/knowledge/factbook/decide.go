package factbook

import (
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Outcome is what became of a fact that was stated.
type Outcome int

// Outcomes.
const (
	// Remembered means that it is active.
	Remembered Outcome = iota + 1
	// Known means that it was there already.
	Known
	// Proposed means that it waits for the user.
	Proposed
	// Forgotten means that the user has had it forgotten, or has rejected it; it was not stored.
	Forgotten
	// Off means that the user has switched memory off; it was not stored.
	Off
	// Past means that it was stored as an earlier value.
	Past
	// Full means that the user has as many facts as possible; it was not stored.
	Full
)

const (
	// MaxFacts is how many facts a user may have, those that are superseded included.
	MaxFacts = 1000
	// maxPast is how many superseded facts are kept of one attribute.
	maxPast = 20
)

// decision is what a stated fact changes.
type decision struct {
	outcome Outcome
	fact    store.Fact
	change  store.FactChange
}

// sameAttribute reports whether two facts are about the same attribute of the same entity, for the same agents. Only such facts supersede
// each other: similarity is no reason.
func sameAttribute(a, b store.Fact) bool {
	return a.AgentID == b.AgentID && attributeOf(a.Attribute) != "" && attributeOf(a.Attribute) == attributeOf(b.Attribute) &&
		entityOf(a.Entity) == entityOf(b.Entity)
}

// same reports whether two facts state the same.
func same(a, b store.Fact) bool {
	if a.Attribute == "" && b.Attribute == "" {
		return a.AgentID == b.AgentID && entityOf(a.Entity) == entityOf(b.Entity) && foldValue(a.Text) == foldValue(b.Text)
	}
	return sameAttribute(a, b) && foldValue(a.Value) == foldValue(b.Value)
}

// Usable reports whether a turn may use a fact at a time. A superseded one is true until its successor begins to be.
func Usable(f store.Fact, at time.Time) bool {
	return (f.State == store.FactActive || f.State == store.FactSuperseded) && !f.ValidFrom.After(at) &&
		(f.ValidTo.IsZero() || f.ValidTo.After(at))
}

// decide returns what becomes of a fact that is stated now, and what it changes among the facts of its user. dated: its ValidFrom was
// stated too.
func decide(facts []store.Fact, n store.Fact, dated bool) decision {
	for _, f := range facts {
		switch {
		case !same(f, n) || f.ID == n.ID:
		case f.State == store.FactRejected && n.Trust < store.OfUser:
			return decision{outcome: Forgotten}
		case f.State == store.FactActive && (f.ValidTo.IsZero() || f.ValidTo.After(n.CreateTime)):
			return known(f, n)
		case f.State == store.FactSuperseded && dated && f.ValidFrom.Equal(n.ValidFrom):
			return decision{outcome: Known, fact: f}
		}
	}
	active := activeOf(facts, n)
	if n.Trust == store.OfTools || active != nil && active.Trust > n.Trust {
		return propose(facts, n)
	}
	d := decision{outcome: Remembered, change: store.FactChange{Erase: confirmed(facts, n)}}
	n.State = store.FactActive
	switch {
	case active == nil:
	case dated && n.ValidFrom.Before(active.ValidFrom):
		d.outcome, n.State, n.SupersededBy = Past, store.FactSuperseded, active.ID
		if n.ValidTo.IsZero() || n.ValidTo.After(active.ValidFrom) {
			n.ValidTo = active.ValidFrom
		}
	default:
		d.change.Update = append(d.change.Update, superseded(*active, n))
	}
	d.fact = n
	d.change.Erase = append(d.change.Erase, beyond(facts, n, maxPast-1)...)
	return d.added(facts, n)
}

// known is a fact that is there already. The user's word raises the trust in it.
func known(f, n store.Fact) decision {
	d := decision{outcome: Known, fact: f}
	if n.Trust > f.Trust && n.Trust == store.OfUser {
		d.fact.Trust, d.fact.UpdateTime = n.Trust, n.CreateTime
		d.change.Update = []store.Fact{d.fact}
	}
	return d
}

// propose is a fact that waits for its user.
func propose(facts []store.Fact, n store.Fact) decision {
	for _, f := range facts {
		if f.State == store.FactProposed && same(f, n) {
			return decision{outcome: Proposed, fact: f}
		}
	}
	n.State = store.FactProposed
	return decision{outcome: Proposed, fact: n}.added(facts, n)
}

// added adds a fact to a decision, unless there are too many. One that is among the facts is updated.
func (d decision) added(facts []store.Fact, n store.Fact) decision {
	for _, f := range facts {
		if f.ID == n.ID {
			d.change.Update = append(d.change.Update, n)
			return d
		}
	}
	if len(facts)-len(d.change.Erase) >= MaxFacts {
		return decision{outcome: Full}
	}
	d.change.Add = []store.Fact{n}
	return d
}

// activeOf returns the active fact about the attribute of n, nil if there is none.
func activeOf(facts []store.Fact, n store.Fact) *store.Fact {
	for i, f := range facts {
		if f.State == store.FactActive && f.ID != n.ID && sameAttribute(f, n) {
			return &facts[i]
		}
	}
	return nil
}

// superseded returns a fact that n replaces.
func superseded(f, n store.Fact) store.Fact {
	f.State, f.SupersededBy, f.UpdateTime = store.FactSuperseded, n.ID, n.CreateTime
	if f.ValidTo.IsZero() || f.ValidTo.After(n.ValidFrom) {
		f.ValidTo = n.ValidFrom
	}
	return f
}

// confirmed returns the proposals that say what n says.
func confirmed(facts []store.Fact, n store.Fact) (ids []string) {
	for _, f := range facts {
		if f.State == store.FactProposed && f.ID != n.ID && same(f, n) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// beyond returns the superseded facts about the attribute of n that are older than the newest ones, which stay.
func beyond(facts []store.Fact, n store.Fact, stay int) (ids []string) {
	for _, f := range facts { // newest first
		if f.State == store.FactSuperseded && sameAttribute(f, n) {
			if stay--; stay < 0 {
				ids = append(ids, f.ID)
			}
		}
	}
	return ids
}
