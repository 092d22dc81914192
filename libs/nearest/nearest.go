// Package nearest suggests known names for a misspelled one.
package nearest

import (
	"slices"
	"strings"
)

// maxName is the maximum number of bytes compared: names come from callers, and the comparison takes time proportional to their length.
const maxName = 128

// Name returns the known name closest to name, "" if none is close. Of several equally close ones it returns the first.
func Name(name string, known []string) string {
	if near := Names(name, known, 1, nil); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Names returns at most limit known names that are close to name, the closest first, and equally close ones in the order of known. A name
// is close if it differs, ignoring case, by at most two letters or a third of name, and has something in common with it. A name for which
// alike holds counts as one letter away; alike may be nil.
func Names(name string, known []string, limit int, alike func(known string) bool) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	name = strings.ToLower(name[:min(len(name), maxName)])
	for _, k := range known {
		d := distance(name, strings.ToLower(k[:min(len(k), maxName)]))
		if d > 1 && alike != nil && alike(k) {
			d = 1
		}
		if d <= max(2, len(name)/3) && d < max(len(name), len(k)) {
			near = append(near, candidate{k, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return a.distance - b.distance })
	names := make([]string, 0, min(len(near), limit))
	for _, c := range near[:min(len(near), limit)] {
		names = append(names, c.name)
	}
	return names
}

// distance returns the Levenshtein distance of a and b in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
