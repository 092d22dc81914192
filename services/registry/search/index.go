// Package search finds tools by words.
package search

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Document is what can be found of one tool.
type Document struct {
	// Name is its namespaced name; the others are for people and models.
	Name, Title, Description string
	Tags                     []string
}

// Hit is a tool that was found.
type Hit struct {
	// Name is its namespaced name.
	Name string
	// Score rises with how well it fits; scores of different queries cannot be compared.
	Score float64
}

// Parameters of BM25F (Robertson, Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004), and how often a word of
// each part counts: a name says more than a description. Only descriptions are normalised by their length, so that a tool that is
// explained at length does not lose by its name.
const (
	k1          = 1.2
	b           = 0.75
	weightName  = 4
	weightTitle = 2
	weightTag   = 2
)

// Index finds documents by words. It is never modified, so it is safe for concurrent use.
type Index struct {
	names    []string
	postings map[string][]posting
}

type posting struct {
	document int
	weight   float64 // how often the word is in the document, weighted and normalised
}

// New indexes documents.
func New(documents []Document) *Index {
	x := &Index{postings: map[string][]posting{}}
	texts, total := make([][]string, len(documents)), 0
	for i, d := range documents {
		texts[i] = words(d.Description)
		total += len(texts[i])
	}
	average := float64(max(total, 1)) / float64(max(len(documents), 1))
	for i, d := range documents {
		counts := map[string]float64{}
		add := func(words []string, weight float64) {
			for _, w := range words {
				counts[w] += weight
			}
		}
		add(words(d.Name), weightName)
		add(words(d.Title), weightTitle)
		add(words(strings.Join(d.Tags, " ")), weightTag)
		add(texts[i], 1/(1-b+b*float64(len(texts[i]))/average))
		for w, n := range counts {
			x.postings[w] = append(x.postings[w], posting{i, n})
		}
		x.names = append(x.names, d.Name)
	}
	return x
}

// maxQuery limits the words of a query.
const maxQuery = 32

// Find returns the documents that have a word of the query, best first; equally good ones by name. A word also finds longer words that
// begin with it, at half the weight.
func (x *Index) Find(query string) []Hit {
	asked := words(query)
	slices.Sort(asked)
	asked = slices.Compact(asked)
	scores := map[int]float64{}
	for _, w := range asked[:min(len(asked), maxQuery)] {
		x.score(scores, w, 1)
		if len(w) < 3 {
			continue
		}
		for longer := range x.postings {
			if len(longer) > len(w) && strings.HasPrefix(longer, w) {
				x.score(scores, longer, 0.5)
			}
		}
	}
	hits := make([]Hit, 0, len(scores))
	for i, s := range scores {
		hits = append(hits, Hit{x.names[i], s})
	}
	slices.SortFunc(hits, func(p, q Hit) int { return cmp.Or(cmp.Compare(q.Score, p.Score), strings.Compare(p.Name, q.Name)) })
	return hits
}

func (x *Index) score(scores map[int]float64, word string, share float64) {
	list := x.postings[word]
	n := float64(len(list))
	rarity := math.Log(1 + (float64(len(x.names))-n+0.5)/(n+0.5))
	for _, p := range list {
		scores[p.document] += share * rarity * p.weight * (k1 + 1) / (p.weight + k1)
	}
}
