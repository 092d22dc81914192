package execute

import (
	"slices"
	"strings"
)

const (
	// maxCandidates bounds the names that a wrong one is compared with.
	maxCandidates = 2000
	// maxNear bounds the names that are proposed.
	maxNear = 5
)

// nearest gives the names most like a wrong one, the best first: those a few letters away, and those of the same tool under
// another prefix.
func nearest(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var found []scored
	name = name[:min(len(name), 128)]
	for _, n := range names {
		d := distance(strings.ToLower(name), strings.ToLower(n))
		_, tool, _ := strings.Cut(n, "__")
		if tool != "" && (strings.EqualFold(tool, name) || strings.HasSuffix(strings.ToLower(name), "_"+strings.ToLower(tool))) {
			d = min(d, 1)
		}
		if d <= max(2, len(n)/3) {
			found = append(found, scored{n, d})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return a.score - b.score })
	var near []string
	for _, s := range found[:min(len(found), maxNear)] {
		near = append(near, s.name)
	}
	return near
}

// distance is Levenshtein's, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost = 1 + min(last, row[j], row[j+1])
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
