// Package search finds passages of documents for queries. The store finds candidates, rank orders them.
package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	minWords, maxWords = 3, 32
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
type Searcher struct{ store Store }

// New returns a searcher.
func New(s Store) *Searcher { return &Searcher{s} }

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

// Search returns the passages that fit a query best, the best first, and the ids of the banks that do not exist. Of passages that say
// nearly the same it returns the best one.
func (s *Searcher) Search(ctx context.Context, q Query) (results []Result, missing []string, err error) {
	words := rank.Query(q.Text)
	limit := q.Results
	if limit <= 0 {
		limit = DefaultResults
	}
	limit = min(limit, MaxResults)
	err = s.store.Snapshot(ctx, func(snapshot store.Snapshot) error {
		results, missing = nil, nil
		var all []scored
		for _, bank := range q.Banks {
			found, err := searchBank(ctx, snapshot, q, bank, words)
			switch {
			case errors.Is(err, store.ErrNotFound):
				missing = append(missing, bank.ID)
			case err != nil:
				return fmt.Errorf("search bank %q: %w", bank.ID, err)
			}
			all = append(all, found...)
		}
		slices.SortFunc(all, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.bank, b.bank), cmp.Compare(a.position, b.position))
		})
		var err error
		results, err = read(ctx, snapshot, q.Tenant, all, limit)
		return err
	})
	return results, missing, err
}

// searchBank returns the ranked candidates of a bank.
func searchBank(ctx context.Context, snapshot store.Snapshot, q Query, bank Bank, words []string) ([]scored, error) {
	b, frequencies, err := snapshot.Frequencies(ctx, q.Tenant, bank.ID, words)
	if err != nil {
		return nil, err
	}
	statistics := rank.Statistics{Chunks: b.Chunks, Length: b.Length, Frequency: frequencies}
	candidates, err := snapshot.Candidates(ctx, store.Find{
		Tenant: q.Tenant, Bank: bank.ID, Words: finders(words, statistics), Labels: bank.Labels, Attributes: q.Attributes,
		Counted: words, Limit: maxCandidates,
	})
	if err != nil {
		return nil, err
	}
	ids := make(map[string]int64, len(candidates))
	ranked := make([]rank.Candidate, len(candidates))
	for i, c := range candidates {
		position := fmt.Sprintf("%s/%09d", c.Document, c.Ordinal)
		ids[position] = c.ID
		ranked[i] = rank.Candidate{ID: position, Document: c.Document, Counts: c.Counts, Length: c.Length}
	}
	found := make([]scored, len(candidates))
	for i, r := range rank.Rank(words, statistics, ranked) {
		found[i] = scored{bank: bank.ID, position: r.ID, id: ids[r.ID], score: r.Score}
	}
	return found, nil
}

// finders returns the words by which candidates are found: the rarest ones, until they occur often enough. That depends on nothing but
// the bank's statistics, so that every engine finds the same candidates.
func finders(words []string, s rank.Statistics) []store.Word {
	words = slices.DeleteFunc(slices.Clone(words), func(word string) bool { return s.Frequency[word] <= 0 })
	slices.SortFunc(words, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.Frequency[a], s.Frequency[b]), cmp.Compare(a, b))
	})
	var out []store.Word
	hits := int64(0)
	for _, word := range words {
		hits += s.Frequency[word]
		if len(out) == maxWords || len(out) >= minWords && hits > enoughHits {
			break
		}
		out = append(out, store.Word{Text: word, Weight: 1 + int64(math.Round(s.InverseFrequency(word)/weightUnit))})
	}
	return out
}
