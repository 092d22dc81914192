package search

import (
	"hash/fnv"
	"slices"
	"strings"
)

// repeated is the share of words from which on two passages say nearly the same.
const repeated = 0.9

// shape is the set of a text's words with their neighbours, as sorted hashes.
type shape []uint64

// shapeOf returns the shape of a text. Its parts are pairs of neighbouring words, without differences of case and white space.
func shapeOf(text string) shape {
	var s shape
	before := ""
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		h := fnv.New64a()
		_, _ = h.Write([]byte(before + " " + word)) // never fails
		s = append(s, h.Sum64())
		before = word
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// repeats reports whether two shapes have most parts in common: Jaccard's coefficient is at least 0.9.
func (s shape) repeats(other shape) bool {
	if float64(min(len(s), len(other))) < repeated*float64(max(len(s), len(other))) {
		return false
	}
	common, i, j := 0, 0, 0
	for i < len(s) && j < len(other) {
		switch {
		case s[i] == other[j]:
			common, i, j = common+1, i+1, j+1
		case s[i] < other[j]:
			i++
		default:
			j++
		}
	}
	return float64(common) >= repeated*float64(len(s)+len(other)-common)
}
