package search

import (
	"context"
	"slices"

	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// passageBytes is the length up to which a passage gets the chunks beside it: about 300 tokens.
	passageBytes = 1200
	// neighbours is the number of chunks on each side that it may get.
	neighbours = 6
)

// reader collects results.
type reader struct {
	snapshot store.Snapshot
	tenant   string
	limit    int
	results  []Result
	shapes   []shape
}

// read returns the first results of what was found with their texts. It leaves out what is in a better one already, or nearly repeats it.
func read(ctx context.Context, snapshot store.Snapshot, tenant string, found []scored, limit int) ([]Result, error) {
	r := reader{snapshot: snapshot, tenant: tenant, limit: limit}
	for len(found) > 0 && len(r.results) < limit {
		group := found[:min(len(found), limit)]
		found = found[len(group):]
		ids := make([]int64, len(group))
		for i, f := range group {
			ids[i] = f.id
		}
		passages, err := snapshot.Passages(ctx, tenant, ids)
		if err != nil {
			return nil, err
		}
		for _, f := range group {
			if err := r.add(ctx, f, passages[f.id]); err != nil {
				return nil, err
			}
		}
	}
	return r.results, nil
}

// add adds a passage to the results.
func (r *reader) add(ctx context.Context, f scored, p store.Passage) error {
	if len(r.results) == r.limit || r.has(p.Version, p.Start, p.End) {
		return nil
	}
	if p.End-p.Start < passageBytes {
		around, err := r.snapshot.Around(ctx, r.tenant, p, neighbours)
		if err != nil {
			return err
		}
		p.Start, p.End = r.widen(p, around)
	}
	text, err := r.snapshot.Text(ctx, r.tenant, p.Version, p.Start, p.End)
	if err != nil {
		return err
	}
	s := shapeOf(text)
	if slices.ContainsFunc(r.shapes, s.repeats) {
		return nil
	}
	r.shapes = append(r.shapes, s)
	r.results = append(r.results, Result{Passage: p, Text: text, Bank: f.bank, Score: f.score})
	return nil
}

// has reports whether a result has something of a range of a version.
func (r *reader) has(version string, start, end int64) bool {
	return slices.ContainsFunc(r.results, func(other Result) bool {
		return other.Version == version && start < other.End && other.Start < end
	})
}

// widen returns the range of a passage with chunks beside it, after and before it in turn, that no result has yet.
func (r *reader) widen(p store.Passage, around []store.Span) (start, end int64) {
	spans := map[int]store.Span{}
	for _, s := range around {
		spans[s.Ordinal] = s
	}
	start, end = p.Start, p.End
	first, last := p.Ordinal, p.Ordinal
	for grown := true; grown; {
		grown = false
		for _, ordinal := range []int{last + 1, first - 1} {
			s, ok := spans[ordinal]
			from, to := min(start, s.Start), max(end, s.End)
			if !ok || to-from > passageBytes || r.has(p.Version, s.Start, s.End) {
				continue
			}
			start, end, first, last, grown = from, to, min(first, ordinal), max(last, ordinal), true
		}
	}
	return start, end
}
