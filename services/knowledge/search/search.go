// Package search finds passages of documents for queries. The store finds candidates, rank orders them.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// DefaultResults and MaxResults are the number of results of a query that names none, and the most that it may name.
	DefaultResults = 10
	MaxResults     = 100
	// maxCandidates is the number of chunks of a bank that are ranked.
	maxCandidates = 500
	// enoughHits is the number of occurrences from which on more common words find no further candidates. They still count in the
	// ranking of those that are found.
	enoughHits = 10_000
	// minWords and maxWords bound the number of words that find candidates, whatever their frequency.
	minWords, maxWords = 3, 48
	// maxRelated is how many of these may be words that are related to those of the query.
	maxRelated = 24
	// weightUnit is the smallest difference of inverse frequencies by which candidates are chosen. Sums of whole numbers are the same on
	// all engines.
	weightUnit = 1.0 / 1024
)

// Store is what searches read.
type Store interface {
	// Snapshot runs f on one state of the database.
	Snapshot(ctx context.Context, f func(store.Snapshot) error) error
}

// Searcher searches banks. It is safe for concurrent use.
type Searcher struct {
	store  Store
	hybrid Hybrid
}

// New returns a searcher by words.
func New(s Store) *Searcher { return &Searcher{store: s} }

// Bank is a bank to search, and what of it the caller may read.
type Bank struct {
	// ID is that of the bank.
	ID string
	// Labels are those that the caller may read. Documents with another one are not found.
	Labels []string
}

// Query is what to search, and where.
type Query struct {
	// Tenant owns the banks.
	Tenant string
	// Banks are searched together. Their results are in one order.
	Banks []Bank
	// Text is a question or words.
	Text string
	// Attributes are those that documents must have.
	Attributes map[string]string
	// Results is the maximum number of results: 0 = 10, at most 100.
	Results int
}

// Result is a passage that was found.
type Result struct {
	// Passage is the chunk that was found. Start and End are those of Text, which has neighbours of a short chunk as well.
	store.Passage
	// Text is the version's text from Start to End.
	Text string
	// Bank is the id of its bank.
	Bank string
	// Score is how well it fits: higher is better.
	Score float64
}

// scored is a candidate of any bank with its score. Position names the chunk independently of the database.
type scored struct {
	bank, position string
	id             int64
	score          float64
}

// Found is what a search returns.
type Found struct {
	// Results are the passages that fit best, the best first. Of passages that say nearly the same there is the best one only.
	Results []Result
	// Missing are the ids of the banks that do not exist.
	Missing []string
	// Hybrid is set if vectors were compared as well as words, Reranked if a model ordered the first results.
	Hybrid, Reranked bool
}

// Search returns the passages that fit a query best.
func (s *Searcher) Search(ctx context.Context, q Query) (found Found, err error) {
	limit := q.Results
	if limit <= 0 {
		limit = DefaultResults
	}
	limit = min(limit, MaxResults)
	vectors, err := s.queries(ctx, q)
	if err != nil {
		return found, err
	}
	err = s.store.Snapshot(ctx, func(snapshot store.Snapshot) error {
		found = Found{}
		all, err := s.rank(ctx, snapshot, q, vectors, &found)
		if err != nil {
			return err
		}
		found.Results, err = read(ctx, snapshot, q.Tenant, all, s.hybrid.wanted(limit))
		return err
	})
	if err != nil {
		return Found{}, err
	}
	s.rerank(ctx, q.Text, &found)
	found.Results = found.Results[:min(limit, len(found.Results))]
	return found, nil
}

// rank returns what was found in all banks, the best first. It notes in found which banks are missing, and whether vectors were compared.
func (s *Searcher) rank(ctx context.Context, snapshot store.Snapshot, q Query, vectors []vectorQuery, found *Found) ([]scored, error) {
	words := rank.Query(q.Text)
	var all []scored
	var banks []Bank
	for _, bank := range q.Banks {
		byWords, err := searchBank(ctx, snapshot, q, bank, words)
		switch {
		case errors.Is(err, store.ErrNotFound):
			found.Missing = append(found.Missing, bank.ID)
			continue
		case err != nil:
			return nil, fmt.Errorf("search bank %q: %w", bank.ID, err)
		}
		banks = append(banks, bank)
		all = append(all, byWords...)
	}
	slices.SortFunc(all, better)
	lists := [][]scored{all}
	for _, v := range vectors {
		near, compared, err := s.near(ctx, snapshot, q, v, banks)
		if err != nil {
			return nil, err
		}
		if found.Hybrid = found.Hybrid || compared; compared {
			lists = append(lists, near)
		}
	}
	if found.Hybrid {
		return fuse(lists), nil
	}
	return all, nil
}

// better orders what was found: by score, then by where it is.
func better(a, b scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.bank, b.bank), cmp.Compare(a.position, b.position))
}

// position names a chunk independently of the database.
func position(document string, ordinal int) string { return fmt.Sprintf("%s/%09d", document, ordinal) }

// searchBank returns the ranked candidates of a bank.
func searchBank(ctx context.Context, snapshot store.Snapshot, q Query, bank Bank, words []string) ([]scored, error) {
	b, frequencies, err := snapshot.Frequencies(ctx, q.Tenant, bank.ID, terms(words))
	if err != nil {
		return nil, err
	}
	statistics := rank.Statistics{Chunks: b.Chunks, Length: b.Length, Frequency: frequencies}
	candidates, err := snapshot.Candidates(ctx, store.Find{
		Tenant: q.Tenant, Bank: bank.ID, Words: finders(words, statistics), Labels: bank.Labels, Attributes: q.Attributes,
		Counted: slices.Collect(maps.Keys(frequencies)), Limit: maxCandidates,
	})
	if err != nil {
		return nil, err
	}
	ids := make(map[string]int64, len(candidates))
	ranked := make([]rank.Candidate, len(candidates))
	for i, c := range candidates {
		position := position(c.Document, c.Ordinal)
		ids[position] = c.ID
		ranked[i] = rank.Candidate{ID: position, Document: c.Document, Counts: c.Counts, Length: c.Length}
	}
	found := make([]scored, len(candidates))
	for i, r := range rank.Rank(words, statistics, ranked) {
		found[i] = scored{bank: bank.ID, position: r.ID, id: ids[r.ID], score: r.Score}
	}
	return found, nil
}

// terms returns the words of a query and those related to them.
func terms(words []string) []string {
	out := slices.Clone(words)
	for _, others := range rank.Related(words) {
		out = append(out, others...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// finders returns the words by which candidates are found: the rarest ones of the query, until they occur often enough, and then those
// related to them. That depends on nothing but the bank's statistics, so that every engine finds the same candidates.
func finders(words []string, s rank.Statistics) []store.Word {
	weights := map[string]float64{}
	for i, others := range rank.Related(words) {
		for _, other := range others {
			weights[other] = max(weights[other], s.RelatedFrequency(words[i], other))
		}
	}
	related := rarest(slices.Collect(maps.Keys(weights)), s, maxRelated, 0)
	own := rarest(words, s, maxWords-len(related), minWords)
	out := make([]store.Word, 0, len(own)+len(related))
	for _, word := range own {
		out = append(out, store.Word{Text: word, Weight: weigh(s.InverseFrequency(word))})
	}
	for _, word := range related {
		out = append(out, store.Word{Text: word, Weight: weigh(weights[word])})
	}
	return out
}

func weigh(frequency float64) int64 { return 1 + int64(math.Round(frequency/weightUnit)) }

// rarest returns at most limit of some words that the bank has, the rarest first, until they occur often enough; but always so many.
func rarest(words []string, s rank.Statistics, limit, always int) (out []string) {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return s.Frequency[word] <= 0 })
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Frequency[a], s.Frequency[b]), cmp.Compare(a, b))
	})
	hits := int64(0)
	for _, word := range words {
		hits += s.Frequency[word]
		if len(out) == limit || len(out) >= always && hits > enoughHits {
			break
		}
		out = append(out, word)
	}
	return out
}
