// Package rank analyses words and ranks passages by them. It knows no database: indexes find candidates, and everything that decides
// their order happens here, from the statistics of the bank. So all engines rank alike, and the text of one bank does not weigh in
// another's.
package rank

import (
	"cmp"
	"math"
	"slices"
)

// Parameters of the ranking. k1 and relatedShare were chosen on one half of the questions of bench/retrieval; its README has the figures.
const (
	// k1 says how soon further occurrences of a word stop to count.
	k1 = 0.9
	// b says how much a long chunk must have a word more often than a short one; 1 = in proportion to its length.
	b = 0.75
	// headingWeight is how often an occurrence in a heading counts.
	headingWeight = 2
	// documentShare is the weight of what the whole document has of the query, beside that of the chunk.
	documentShare = 0.5
	// relatedShare is the weight of a word that means nearly the same as one of the query.
	relatedShare = 0.8
)

// maxQuery is the number of analysed words of a query that count.
const maxQuery = 256

// Statistics describes a bank.
type Statistics struct {
	// Chunks is the number of its chunks.
	Chunks int64
	// Length is the number of words of all its chunks.
	Length int64
	// Frequency is the number of chunks that have a word. Words of the query that it lacks are in no chunk.
	Frequency map[string]int64
}

// Candidate is a chunk that has words of a query.
type Candidate struct {
	// ID identifies the chunk.
	ID string
	// Document identifies its document.
	Document string
	// Counts says how often it has each word, as Count returns them; only the words of the query are read.
	Counts map[string]int
	// Length is the number of its words, as Count returns it.
	Length int
}

// Scored is a ranked candidate.
type Scored struct {
	// ID identifies the chunk.
	ID string
	// Score is how well it fits: higher is better.
	Score float64
}

// Count returns how often each analysed word occurs in a chunk's headings and text, and how many words there are. An occurrence in a
// heading counts twice.
func Count(heading []string, text string) (counts map[string]int, length int) {
	counts = map[string]int{}
	count := func(text string, weight int) {
		analyse(text, func(word string, whole bool) {
			counts[word] += weight
			if !whole {
				length++
			}
		})
	}
	for _, h := range heading {
		count(h, headingWeight)
	}
	count(text, 1)
	return counts, length
}

// Query returns the analysed words of a query in their order, each once, at most 256. Words such as "the" and "how" are left out, unless
// there are no others.
func Query(text string) []string {
	var words, all []string
	seen := map[string]bool{}
	analyse(text, func(word string, _ bool) {
		if seen[word] || len(all) == maxQuery {
			return
		}
		seen[word] = true
		all = append(all, word)
		if !stopWords[word] {
			words = append(words, word)
		}
	})
	if len(words) == 0 {
		return all
	}
	return words
}

// InverseFrequency returns how much a word says about a chunk that has it: little if many chunks of the bank do. It is 0 for a word
// that no chunk has. The formula is that of Lucene, which unlike Robertson's and Spärck Jones' is never negative: ln(1 + (N - n + 0.5)
// / (n + 0.5)) with N chunks, n of which have the word.
func (s Statistics) InverseFrequency(word string) float64 {
	n := float64(s.Frequency[word])
	if n <= 0 {
		return 0
	}
	return math.Log(1 + (max(float64(s.Chunks), n)-n+0.5)/(n+0.5))
}

// RelatedFrequency is InverseFrequency of a word that means nearly the same as a word of the query, as it weighs in scores: less than
// that word, and never more than it if the bank has it.
func (s Statistics) RelatedFrequency(word, other string) float64 {
	out := s.InverseFrequency(other)
	if idf := s.InverseFrequency(word); idf > 0 {
		out = min(out, idf)
	}
	return relatedShare * out
}

// Rank orders candidates of one bank, the best first, and equal ones by their id. The score of a chunk is
//
//	BM25(chunk) + documentShare · Σ over the words of the query of the best share that a candidate of its document gets for the word
//
// BM25 is that of Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3: the sum over the
// words of idf · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length)). The second part prefers chunks whose document is about
// the whole query: what is said once at its beginning is rarely repeated in each of its sections. For each word of the query, a chunk gets
// the best share of the word itself and of its related words.
func Rank(query []string, s Statistics, candidates []Candidate) []Scored {
	mean := 1.0
	if s.Chunks > 0 && s.Length > 0 {
		mean = float64(s.Length) / float64(s.Chunks)
	}
	words := weigh(query, s)
	scores := make([]Scored, len(candidates))
	best := map[string][]float64{}
	for i, c := range candidates {
		norm := k1 * (1 - b + b*float64(c.Length)/mean)
		shares := best[c.Document]
		if shares == nil {
			shares = make([]float64, len(query))
			best[c.Document] = shares
		}
		scores[i].ID = c.ID
		for j, alternatives := range words {
			share := 0.0
			for _, w := range alternatives {
				if tf := float64(c.Counts[w.text]); tf > 0 {
					share = max(share, w.weight*tf*(k1+1)/(tf+norm))
				}
			}
			scores[i].Score += share
			shares[j] = max(shares[j], share)
		}
	}
	for i, c := range candidates {
		for _, share := range best[c.Document] {
			scores[i].Score += documentShare * share
		}
	}
	slices.SortFunc(scores, func(a, b Scored) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	return scores
}

// weighted is a word with its weight in a score.
type weighted struct {
	text   string
	weight float64
}

// weigh returns, for each word of a query, it and its related words, as far as the bank has them.
func weigh(query []string, s Statistics) [][]weighted {
	out := make([][]weighted, len(query))
	for i, others := range Related(query) {
		if idf := s.InverseFrequency(query[i]); idf > 0 {
			out[i] = append(out[i], weighted{query[i], idf})
		}
		for _, other := range others {
			if idf := s.RelatedFrequency(query[i], other); idf > 0 {
				out[i] = append(out[i], weighted{other, idf})
			}
		}
	}
	return out
}
