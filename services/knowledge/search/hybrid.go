package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/windlass-dev/windlass/services/knowledge/dense"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// nearest is the number of chunks of a bank that are found by codes and compared by their vectors.
	nearest = 200
	// fusion is the constant of reciprocal rank fusion: the larger it is, the less the first ranks of a list weigh.
	fusion = 60
	// rerankResults is the number of results that a model orders.
	rerankResults = 50
	// codePage is the number of codes that are read at a time.
	codePage = 5000
	// maxGone is the number of deleted codes in memory, besides a quarter of all, from which on they are read again.
	maxGone = 500
)

// Models make vectors of queries and order passages.
type Models interface {
	// Query returns the unit vector of a query in a space.
	Query(ctx context.Context, s store.Space, text string) ([]float32, error)
	// Rerank returns the positions of texts in their order for a query, the best first; nil without a model for that.
	Rerank(ctx context.Context, query string, texts []string) ([]int, error)
}

// Hybrid is what searches by vectors need; the zero value searches by words.
type Hybrid struct {
	// Models are called; nil = words only.
	Models Models
	// Spaces says in which space banks have their vectors; those without are left out.
	Spaces func(ctx context.Context, tenant string, banks []string) (map[string]store.Space, error)
	// Reranks is set if there is a reranking model.
	Reranks bool
	// Codes keeps codes in memory.
	Codes *dense.Cache
	// Log gets why a search did without a model.
	Log *slog.Logger
}

// NewHybrid returns a searcher by words and, as far as banks have them, by vectors.
func NewHybrid(s Store, h Hybrid) *Searcher { return &Searcher{store: s, hybrid: h} }

// wanted returns how many results are read for a limit.
func (h Hybrid) wanted(limit int) int {
	if h.Models != nil && h.Reranks {
		return max(limit, rerankResults)
	}
	return limit
}

// vectorQuery is a query in a space.
type vectorQuery struct {
	space  store.Space
	vector []float32
	code   []byte
}

// queries embeds a query once for each space that its banks use. It leaves out the spaces whose model does not answer.
func (s *Searcher) queries(ctx context.Context, q Query) (out []vectorQuery, err error) {
	if s.hybrid.Models == nil || s.hybrid.Spaces == nil || len(q.Banks) == 0 {
		return nil, nil
	}
	ids := make([]string, len(q.Banks))
	for i, b := range q.Banks {
		ids[i] = b.ID
	}
	spaces, err := s.hybrid.Spaces(ctx, q.Tenant, ids)
	if err != nil {
		return nil, err
	}
	done := map[int64]bool{}
	for _, id := range ids {
		space, ok := spaces[id]
		if !ok || done[space.ID] {
			continue
		}
		done[space.ID] = true
		vector, err := s.hybrid.Models.Query(ctx, space, q.Text)
		switch {
		case err == nil && len(vector) == space.Dimensions:
			out = append(out, vectorQuery{space, vector, dense.Code(vector)})
		case ctx.Err() != nil:
			return nil, fmt.Errorf("embed the query: %w", ctx.Err())
		case !errors.Is(err, embed.ErrPaused): // which was logged when it began
			s.hybrid.Log.WarnContext(ctx, "query not embedded; it is searched by its words", "model", space.Model, "error", err)
		}
	}
	return out, nil
}

// near returns the chunks of those banks that use the query's space whose vectors are nearest to it, the nearest first. It reports whether
// there is such a bank.
func (s *Searcher) near(ctx context.Context, snapshot store.Snapshot, q Query, v vectorQuery, banks []Bank) ([]scored, bool, error) {
	var all []scored
	compared := false
	for _, bank := range banks {
		state, err := snapshot.VectorState(ctx, q.Tenant, bank.ID, v.space.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && !state.Live {
			continue
		}
		var found []scored
		if err == nil {
			find := store.Find{Tenant: q.Tenant, Bank: bank.ID, Labels: bank.Labels, Attributes: q.Attributes}
			found, err = s.nearInBank(ctx, snapshot, find, v, state)
		}
		if errors.Is(err, dense.ErrTooLarge) {
			s.hybrid.Log.WarnContext(ctx, "bank searched by words: raise knowledge.vector_memory", "bank", bank.ID, "chunks", state.Vectors)
			continue
		}
		if err != nil {
			return nil, false, fmt.Errorf("search vectors of bank %q: %w", bank.ID, err)
		}
		compared = true
		all = append(all, found...)
	}
	slices.SortFunc(all, better)
	return all, compared, nil
}

// nearInBank returns the chunks of a bank whose vectors are nearest to a query's, with the cosines as scores.
func (s *Searcher) nearInBank(
	ctx context.Context, snapshot store.Snapshot, find store.Find, v vectorQuery, state store.VectorState,
) (found []scored, err error) {
	if !s.hybrid.Codes.Fits(state.Vectors, v.code) {
		return nil, dense.ErrTooLarge
	}
	readable, err := snapshot.Readable(ctx, find)
	if err != nil {
		return nil, err
	}
	var ids []int64
	gone := 0 // entries in memory that are deleted, or newer than the snapshot
	err = s.hybrid.Codes.Use(dense.Key{Tenant: find.Tenant, Bank: find.Bank, Space: v.space.ID}, func(x *dense.Index) (*dense.Index, error) {
		x, err := s.load(ctx, snapshot, find, v.space.ID, state, x)
		if err == nil {
			gone = max(0, x.Len()-int(state.Vectors))
			ids = x.Nearest(v.code, nearest+gone, readable.Has)
		}
		return x, err
	})
	if err != nil {
		return nil, err
	}
	// The database checks again what the caller may read, and leaves out what is gone.
	chunks, err := snapshot.Vectors(ctx, find, v.space.ID, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]store.Near, len(chunks))
	for _, c := range chunks {
		byID[c.ID] = c
	}
	for _, id := range ids {
		c, ok := byID[id]
		if cosine, same := dense.Cosine(v.vector, c.Vector); ok && same && len(found) < nearest {
			found = append(found, scored{bank: find.Bank, position: position(c.Document, c.Ordinal), id: id, score: cosine})
		}
	}
	return found, nil
}

// load adds to an index what a bank has got since it was used, and builds it again if much of it is deleted. It stops once the index is too
// large for the memory.
func (s *Searcher) load(
	ctx context.Context, snapshot store.Snapshot, find store.Find, space int64, state store.VectorState, x *dense.Index,
) (*dense.Index, error) {
	for {
		for more := x.Last() < state.Last; more; {
			codes, err := snapshot.Codes(ctx, find.Tenant, find.Bank, space, x.Last(), codePage)
			if err != nil {
				return x, err
			}
			for _, c := range codes {
				x.Add(dense.Entry{Seq: c.Seq, Chunk: c.Chunk, Document: c.Document, Ordinal: c.Ordinal, Code: c.Code})
			}
			if more = len(codes) == codePage; !s.hybrid.Codes.Holds(x) {
				return x, dense.ErrTooLarge
			}
		}
		if gone := int64(x.Len()) - state.Vectors; gone <= maxGone+state.Vectors/4 {
			return x, nil
		}
		x = dense.NewIndex()
	}
}

// fuse returns one order of several, by reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): the score of a chunk is the sum of
// 1 / (60 + its rank) over the lists that have it.
func fuse(lists [][]scored) []scored {
	type key struct{ bank, position string }
	at := map[key]int{}
	var out []scored
	for _, list := range lists {
		for i, s := range list {
			k := key{s.bank, s.position}
			n, ok := at[k]
			if !ok {
				n = len(out)
				at[k] = n
				out = append(out, scored{bank: s.bank, position: s.position, id: s.id})
			}
			out[n].score += 1 / float64(fusion+i+1)
		}
	}
	slices.SortFunc(out, better)
	return out
}

// rerank orders the first results by the reranking model. If that does not answer, they stay as they are.
func (s *Searcher) rerank(ctx context.Context, query string, found *Found) {
	if s.hybrid.Models == nil || !s.hybrid.Reranks || len(found.Results) < 2 {
		return
	}
	first := found.Results[:min(rerankResults, len(found.Results))]
	texts := make([]string, len(first))
	for i, r := range first {
		texts[i] = r.Text
	}
	order, err := s.hybrid.Models.Rerank(ctx, query, texts)
	if err != nil && !errors.Is(err, embed.ErrPaused) {
		s.hybrid.Log.WarnContext(ctx, "results not reranked", "error", err)
	}
	if err != nil || len(order) != len(first) {
		return
	}
	ordered := make([]Result, 0, len(found.Results))
	for _, i := range order {
		ordered = append(ordered, first[i])
	}
	found.Results, found.Reranked = append(ordered, found.Results[len(first):]...), true
}
