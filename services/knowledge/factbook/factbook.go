// Package factbook keeps what is remembered about users: which facts supersede others, what is only a proposal, what was forgotten and must
// not be learned again, and which facts a turn recalls.
package factbook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Limits of the texts of a fact, in characters.
const (
	maxText  = 2000
	maxValue = 1000
	maxName  = 100
)

// rows is what is needed of the store.
type rows interface {
	Memory(ctx context.Context, o store.Owner) (store.Memory, error)
	ChangeMemory(ctx context.Context, o store.Owner, change func(store.Memory) (store.FactChange, error)) error
	Purge(ctx context.Context) error
	Now() time.Time
}

// Book is the memory of all users. It is safe for concurrent use.
type Book struct {
	rows   rows
	marker Marker
}

// New returns the book in a store.
func New(st rows, marker Marker) *Book { return &Book{rows: st, marker: marker} }

// Draft is a fact that is stated.
type Draft struct {
	// AgentID is the agent that may use it, "" for all.
	AgentID string
	// Entity is what it is about, "" for the user. Attribute and Value, or Text, are required.
	Entity, Attribute, Value, Text string
	// ValidFrom and ValidTo are zero if they are not stated.
	ValidFrom, ValidTo time.Time
	// SessionID, TurnID and CallID are where a model states it; Tainted: it has read what is not trusted.
	SessionID, TurnID, CallID string
	Tainted                   bool
}

// fact returns the fact of a draft.
func (d Draft) fact(now time.Time) (store.Fact, error) {
	f := store.Fact{
		ID: ids.New(ids.Fact), AgentID: d.AgentID, Entity: strings.TrimSpace(d.Entity), Attribute: strings.TrimSpace(d.Attribute),
		Value: strings.TrimSpace(d.Value), Text: strings.TrimSpace(d.Text), ValidFrom: d.ValidFrom, ValidTo: d.ValidTo,
		SessionID: d.SessionID, TurnID: d.TurnID, CallID: d.CallID, Tainted: d.Tainted, CreateTime: now, UpdateTime: now,
	}
	if entityOf(f.Entity) == user {
		f.Entity = user
	}
	if f.ValidFrom.IsZero() {
		f.ValidFrom = now
	}
	if f.Attribute != "" && f.Value == "" {
		f.Value = f.Text
	}
	if f.Text == "" && f.Attribute != "" {
		f.Text = sentence(f)
	}
	return f, check(f)
}

// sentence is the text of a fact that has none of its own.
func sentence(f store.Fact) string {
	if f.Value == "" {
		return ""
	}
	if f.Entity == user {
		return f.Attribute + ": " + f.Value
	}
	return f.Entity + ", " + f.Attribute + ": " + f.Value
}

// check reports what is wrong with a fact.
func check(f store.Fact) error {
	var wrong []fault.Field
	for _, field := range []struct {
		name, text string
		limit      int
	}{
		{"fact.text", f.Text, maxText},
		{"fact.value", f.Value, maxValue},
		{"fact.attribute", f.Attribute, maxName},
		{"fact.entity", f.Entity, maxName},
	} {
		switch {
		case utf8.RuneCountInString(field.text) > field.limit:
			wrong = append(wrong, fault.Field{Path: field.name, Message: fmt.Sprintf("is longer than %d characters", field.limit)})
		case strings.ContainsRune(field.text, 0) || !utf8.ValidString(field.text):
			wrong = append(wrong, fault.Field{Path: field.name, Message: "must be text without NUL"})
		}
	}
	switch {
	case f.Text == "":
		wrong = append(wrong, fault.Field{Path: "fact.text", Message: "is required, unless attribute and value are set"})
	case f.Attribute == "" && f.Value != "":
		wrong = append(wrong, fault.Field{Path: "fact.attribute", Message: "is required with a value"})
	case !f.ValidTo.IsZero() && !f.ValidTo.After(f.ValidFrom):
		wrong = append(wrong, fault.Field{Path: "fact.valid_to", Message: "must be after valid_from"})
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	return nil
}

// Add stores a fact in the words of its user, who may thereby have something learned again that was forgotten.
func (b *Book) Add(ctx context.Context, o store.Owner, d Draft) (store.Fact, error) {
	n, err := d.fact(b.rows.Now())
	if err != nil {
		return n, err
	}
	n.Trust, n.SessionID, n.TurnID, n.CallID, n.Tainted = store.OfUser, "", "", "", false
	var out decision
	err = b.rows.ChangeMemory(ctx, o, func(m store.Memory) (store.FactChange, error) {
		out = decide(m.Facts, n, !d.ValidFrom.IsZero())
		if out.outcome == Full {
			return store.FactChange{}, errFull()
		}
		out.change.Unmark = []string{b.marker.mark(o, n)}
		return out.change, nil
	})
	return out.fact, err
}

// Remember stores a fact that a model states, as far as it may.
func (b *Book) Remember(ctx context.Context, o store.Owner, d Draft) (Outcome, store.Fact, error) {
	n, err := d.fact(b.rows.Now())
	if err != nil {
		return 0, n, err
	}
	n.Trust = store.OfModel
	if d.Tainted {
		n.Trust = store.OfTools
	}
	var out decision
	err = b.rows.ChangeMemory(ctx, o, func(m store.Memory) (store.FactChange, error) {
		switch {
		case m.Off:
			out = decision{outcome: Off}
		case m.Marks[b.marker.mark(o, n)]:
			out = decision{outcome: Forgotten}
		default:
			out = decide(m.Facts, n, !d.ValidFrom.IsZero())
		}
		return out.change, nil
	})
	return out.outcome, out.fact, err
}

// Fact returns a fact; a NOT_FOUND fault if its owner has no such fact.
func (b *Book) Fact(ctx context.Context, o store.Owner, id string) (store.Fact, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil {
		return store.Fact{}, err
	}
	return find(m, id)
}

func find(m store.Memory, id string) (store.Fact, error) {
	for _, f := range m.Facts {
		if f.ID == id {
			return f, nil
		}
	}
	return store.Fact{}, fault.NotFound("there is no fact %q", id)
}

// List returns the facts in one of the states, newest first, that have all words of a text, and whose ids are before a given one.
func (b *Book) List(ctx context.Context, o store.Owner, states []string, text, before string, limit int) ([]store.Fact, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil {
		return nil, err
	}
	var out []store.Fact
	wanted := strings.Fields(strings.ToLower(text))
	for _, f := range m.Facts {
		whole := strings.ToLower(f.Entity + " " + f.Attribute + " " + f.Value + " " + f.Text)
		missing := slices.ContainsFunc(wanted, func(word string) bool { return !strings.Contains(whole, word) })
		if !missing && slices.Contains(states, f.State) && (before == "" || f.ID < before) && len(out) < limit {
			out = append(out, f)
		}
	}
	return out, nil
}

// Forget erases a fact, and proposals that say the same. A keyed hash stays, so that no model has it remembered again.
func (b *Book) Forget(ctx context.Context, o store.Owner, id string) error {
	err := b.rows.ChangeMemory(ctx, o, func(m store.Memory) (store.FactChange, error) {
		gone, err := find(m, id)
		if err != nil {
			return store.FactChange{}, err
		}
		c := forgotten(m.Facts, gone)
		c.Mark = []string{b.marker.mark(o, gone)}
		return c, nil
	})
	if err != nil {
		return err
	}
	return b.rows.Purge(ctx) // so that it is in no file either
}

// forgotten returns what forgetting a fact changes, without its mark.
func forgotten(facts []store.Fact, gone store.Fact) store.FactChange {
	c := store.FactChange{Erase: []string{gone.ID}}
	for _, f := range facts {
		switch {
		case f.ID == gone.ID:
		case f.State == store.FactProposed && same(f, gone):
			c.Erase = append(c.Erase, f.ID)
		case f.SupersededBy == gone.ID:
			f.SupersededBy = ""
			c.Update = append(c.Update, f)
		}
	}
	return c
}

// ForgetAll erases all facts of a user, as Forget does, and returns how many these were.
func (b *Book) ForgetAll(ctx context.Context, o store.Owner) (n int, err error) {
	err = b.rows.ChangeMemory(ctx, o, func(m store.Memory) (store.FactChange, error) {
		var c store.FactChange
		for _, f := range m.Facts {
			c.Erase, c.Mark = append(c.Erase, f.ID), append(c.Mark, b.marker.mark(o, f))
		}
		n = len(c.Erase)
		return c, nil
	})
	if err != nil {
		return 0, err
	}
	return n, b.rows.Purge(ctx)
}

// Off reports whether a user has switched memory off.
func (b *Book) Off(ctx context.Context, o store.Owner) (bool, error) {
	m, err := b.rows.Memory(ctx, o)
	return m.Off, err
}

// SetOff switches the memory of a user off or on.
func (b *Book) SetOff(ctx context.Context, o store.Owner, off bool) error {
	return b.rows.ChangeMemory(ctx, o, func(store.Memory) (store.FactChange, error) { return store.FactChange{Off: &off}, nil })
}

func errFull() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "a user has at most %d facts", MaxFacts).
		Hint("Delete facts that are no longer needed.")
}

// errState refuses a change of a fact in its state.
func errState(f store.Fact) error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "fact %s is %s and cannot be changed so", f.ID, f.State)
}

// errNothing leaves a memory as it is.
var errNothing = errors.New("nothing to change")
