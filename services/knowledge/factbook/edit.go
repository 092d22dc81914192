package factbook

import (
	"context"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// EditKind says what becomes of a fact.
type EditKind int

// Kinds of edits.
const (
	// Added facts are new.
	Added EditKind = iota + 1
	// Corrected facts supersede those before.
	Corrected
	// Erased facts are forgotten.
	Erased
)

// Edit is a difference between two documents.
type Edit struct {
	Kind EditKind
	// FactID is the fact that is added, corrected or forgotten; "" if it is not stored.
	FactID string
	// Line is where it stands in the document that was edited, from 1; 0 for what was forgotten.
	Line int
	// Before and After are the lines without their comments, "" for none.
	Before, After string
}

// EditSpec is an edited document.
type EditSpec struct {
	// AgentID is the agent that the document is for, "" for all. Facts that are added are for it, too.
	AgentID string
	// Markdown is the edited document, and Etag that of the document before; "" = that in the title.
	Markdown, Etag string
	// DryRun changes nothing.
	DryRun bool
}

// Document returns the active facts of a user as a document for an agent, "" for all.
func (b *Book) Document(ctx context.Context, o store.Owner, agent string) (Document, error) {
	m, err := b.rows.Memory(ctx, o)
	return render(current(m.Facts, agent)), err
}

// Edit makes the facts of a user those of an edited document: lines that are new are added, changed ones corrected, and facts whose lines
// are missing forgotten, as Add, Correct and Forget do, all or nothing. It returns the differences and the document afterwards. A CONFLICT
// fault means that the facts have changed since the document was read.
func (b *Book) Edit(ctx context.Context, o store.Owner, spec EditSpec) (edits []Edit, after Document, err error) {
	p, err := parse(spec.Markdown)
	if err != nil {
		return nil, after, err
	}
	if spec.Etag == "" {
		spec.Etag = p.etag
	}
	if spec.Etag == "" {
		return nil, after, fault.Invalid("etag", "is required, in the field or in the title of the document")
	}
	change := func(m store.Memory) (store.FactChange, error) {
		e := editor{book: b, owner: o, facts: m.Facts, agent: spec.AgentID, now: b.rows.Now()}
		if err := e.run(p.entries, spec.Etag); err != nil {
			return store.FactChange{}, err
		}
		edits, after = e.edits, render(current(e.facts, spec.AgentID))
		return e.change(m.Facts), nil
	}
	if spec.DryRun {
		m, err := b.rows.Memory(ctx, o)
		if err == nil {
			_, err = change(m)
		}
		return edits, after, err
	}
	if err := b.rows.ChangeMemory(ctx, o, change); err != nil {
		return nil, Document{}, err
	}
	for _, e := range edits {
		if e.Kind == Erased {
			return edits, after, b.rows.Purge(ctx) // so that it is in no file either
		}
	}
	return edits, after, nil
}

// editor changes the facts of a user by a document.
type editor struct {
	book         *Book
	owner        store.Owner
	facts        []store.Fact
	agent        string
	now          time.Time
	edits        []Edit
	mark, unmark []string
}

// run does what the lines of a document say: first it forgets, so that there is room for what is added.
func (e *editor) run(lines []entry, etag string) error {
	before := current(e.facts, e.agent)
	if now := render(before).Etag; now != etag {
		return fault.Conflict("the facts have changed since the document was read").Hint("Read the document again, then edit that one.")
	}
	byID, kept := map[string]store.Fact{}, map[string]bool{}
	for _, f := range before {
		byID[f.ID] = f
	}
	for _, l := range lines {
		f, known := byID[l.id]
		switch {
		case l.id != "" && !known:
			return fault.Invalid("markdown", "line %d has the fact %q, which the document before did not have", l.line, l.id)
		case known && entityOf(l.entity) != entityOf(f.Entity):
			return fault.Invalid("markdown", "line %d is below another heading than before: delete its comment to have it added there", l.line)
		}
		kept[l.id] = true
	}
	for _, f := range before {
		if !kept[f.ID] {
			e.forget(f)
		}
	}
	for _, add := range []bool{false, true} {
		for _, l := range lines {
			var err error
			switch {
			case add && l.id == "":
				err = e.add(l)
			case !add && l.id != "":
				err = e.correct(byID[l.id], l)
			}
			if err != nil {
				return inLine(l.line, err)
			}
		}
	}
	return nil
}

// inLine says which line a fault is about.
func inLine(line int, err error) error {
	f := fault.As(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	return fault.Invalid("markdown", "line %d: %s %s", line, strings.TrimPrefix(f.Fields[0].Path, "fact."), f.Fields[0].Message)
}

func (e *editor) forget(f store.Fact) {
	c := forgotten(e.facts, f)
	e.apply(c)
	e.mark = append(e.mark, e.book.marker.mark(e.owner, f))
	e.edits = append(e.edits, Edit{Kind: Erased, FactID: f.ID, Before: lineOf(f)})
}

func (e *editor) add(l entry) error {
	d := Draft{AgentID: e.agent, Entity: l.entity, Text: l.text}
	if attribute, value, ok := strings.Cut(l.text, equals); ok {
		d.Text, d.Attribute, d.Value = "", attribute, value
	}
	n, err := d.fact(e.now)
	if err != nil {
		return err
	}
	n.Trust = store.OfUser
	out := decide(e.facts, n, false)
	if out.outcome == Full {
		return errFull()
	}
	e.apply(out.change)
	e.unmark = append(e.unmark, e.book.marker.mark(e.owner, n))
	if out.outcome != Known {
		e.edits = append(e.edits, Edit{Kind: Added, FactID: out.fact.ID, Line: l.line, After: l.text})
	}
	return nil
}

func (e *editor) correct(f store.Fact, l entry) error {
	if l.text == lineOf(f) {
		return nil
	}
	c := Correction{Text: &l.text}
	if value, ok := strings.CutPrefix(l.text, oneLine(f.Attribute)+equals); ok && f.Attribute != "" {
		c = Correction{Value: &value}
	}
	now, err := find(store.Memory{Facts: e.facts}, f.ID)
	if err != nil {
		return err
	}
	change, after, err := correct(e.facts, now, c, e.now)
	if err != nil {
		return err
	}
	e.apply(change)
	e.unmark = append(e.unmark, e.book.marker.mark(e.owner, after))
	e.edits = append(e.edits, Edit{Kind: Corrected, FactID: after.ID, Line: l.line, Before: lineOf(f), After: l.text})
	return nil
}

// apply applies a change to the editor's facts. New facts are the newest.
func (e *editor) apply(c store.FactChange) {
	byID := map[string]*store.Fact{}
	for i, f := range c.Update {
		byID[f.ID] = &c.Update[i]
	}
	for _, id := range c.Erase {
		byID[id] = nil
	}
	out := append([]store.Fact(nil), c.Add...)
	for _, f := range e.facts {
		if now, changed := byID[f.ID]; !changed {
			out = append(out, f)
		} else if now != nil {
			out = append(out, *now)
		}
	}
	e.facts = out
}

// change returns what differs between the editor's facts and those before.
func (e *editor) change(before []store.Fact) store.FactChange {
	c := store.FactChange{Mark: e.mark, Unmark: e.unmark}
	was := map[string]store.Fact{}
	for _, f := range before {
		was[f.ID] = f
	}
	for _, f := range e.facts {
		old, ok := was[f.ID]
		delete(was, f.ID)
		switch {
		case !ok:
			c.Add = append(c.Add, f)
		case old != f:
			c.Update = append(c.Update, f)
		}
	}
	for _, f := range before {
		if _, gone := was[f.ID]; gone {
			c.Erase = append(c.Erase, f.ID)
		}
	}
	return c
}
