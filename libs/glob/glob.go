// Package glob matches names against simple patterns: "*" stands for any run of characters, also none and also
// separators, "?" for exactly one character, and everything else for itself. Matching is case-sensitive and takes time
// proportional to pattern × name at worst, whatever the pattern.
package glob

import "unicode/utf8"

// Match reports whether the whole name fits the pattern.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // the last star, and where in name its run ends for now
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if pw, nw := step(pattern[p:], name[n:]); nw > 0 {
				p, n = p+pw, n+nw
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, w := utf8.DecodeRuneInString(name[mark:])
		mark += w // the star takes one character more
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// step matches one character that is no star. It gives the widths matched in pattern and name; 0 means no match.
func step(pattern, name string) (int, int) {
	pr, pw := utf8.DecodeRuneInString(pattern)
	nr, nw := utf8.DecodeRuneInString(name)
	if pr == '?' || (pr == nr && pattern[:pw] == name[:nw]) {
		return pw, nw
	}
	return 0, 0
}

// Any reports whether the name fits at least one of the patterns; no patterns fit nothing.
func Any(patterns []string, name string) bool {
	for _, p := range patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}
