package factbook

import (
	"context"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// Version is a state of the document of a user. Versions are not stored: they follow from facts and those that they have superseded, so
// that what was forgotten is in none.
type Version struct {
	// Time names it: when it began.
	Time time.Time
	// Facts is how many it has.
	Facts int
}

// at returns the facts that the document for an agent had at a time.
func at(facts []store.Fact, agent string, t time.Time) (out []store.Fact) {
	for _, f := range facts {
		ended := f.State == store.FactSuperseded && !f.UpdateTime.After(t)
		if (f.State == store.FactActive || f.State == store.FactSuperseded) && !ended && !f.CreateTime.After(t) && shows(f, agent) {
			out = append(out, f)
		}
	}
	return out
}

// Versions returns the versions of the document for an agent, newest first.
func (b *Book) Versions(ctx context.Context, o store.Owner, agent string) ([]Version, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil {
		return nil, err
	}
	return versions(m.Facts, agent), nil
}

func versions(facts []store.Fact, agent string) (out []Version) {
	var times []time.Time
	for _, f := range facts {
		if f.State != store.FactActive && f.State != store.FactSuperseded || !shows(f, agent) {
			continue
		}
		times = append(times, f.CreateTime)
		if f.State == store.FactSuperseded {
			times = append(times, f.UpdateTime)
		}
	}
	slices.SortFunc(times, func(a, b time.Time) int { return b.Compare(a) })
	for _, t := range slices.CompactFunc(times, time.Time.Equal) {
		out = append(out, Version{Time: t, Facts: len(at(facts, agent, t))})
	}
	return out
}

// DocumentAt returns a version of the document for an agent.
func (b *Book) DocumentAt(ctx context.Context, o store.Owner, agent string, t time.Time) (Document, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil {
		return Document{}, err
	}
	if !slices.ContainsFunc(versions(m.Facts, agent), func(v Version) bool { return v.Time.Equal(t) }) {
		return Document{}, fault.NotFound("there is no version %s", t.UTC().Format(time.RFC3339Nano))
	}
	return render(at(m.Facts, agent, t)), nil
}

// Compare returns the differences from the version of one time to that of another; zero is the present one. Times between versions are
// those of the version before.
func (b *Book) Compare(ctx context.Context, o store.Owner, agent string, from, to time.Time) ([]Edit, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil {
		return nil, err
	}
	read := func(t time.Time) []store.Fact {
		if t.IsZero() {
			return current(m.Facts, agent)
		}
		return at(m.Facts, agent, t)
	}
	return differences(m.Facts, read(from), read(to)), nil
}

func differences(all, from, to []store.Fact) (out []Edit) {
	next, before := map[string]string{}, map[string]store.Fact{}
	for _, f := range all {
		next[f.ID] = f.SupersededBy
	}
	after, corrected := map[string]bool{}, map[string]store.Fact{}
	for _, f := range to {
		after[f.ID] = true
	}
	for _, f := range from {
		before[f.ID] = f
		id := f.ID
		for range all { // a chain of facts, each superseded by the next one
			if id == "" || after[id] {
				break
			}
			id = next[id]
		}
		switch {
		case id == f.ID:
		case id != "" && after[id]:
			corrected[id] = f
		default:
			out = append(out, Edit{Kind: Erased, FactID: f.ID, Before: lineOf(f)})
		}
	}
	for _, f := range slices.Backward(to) {
		if _, same := before[f.ID]; same {
			continue
		}
		if old, ok := corrected[f.ID]; ok {
			out = append(out, Edit{Kind: Corrected, FactID: f.ID, Before: lineOf(old), After: lineOf(f)})
			continue
		}
		out = append(out, Edit{Kind: Added, FactID: f.ID, After: lineOf(f)})
	}
	return out
}
