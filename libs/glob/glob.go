// Package glob matches names against simple patterns: "*" matches any run of characters, including none and including separators, "?"
// matches exactly one character, and everything else matches itself. Matching is case-sensitive and takes time proportional to pattern ×
// name at worst.
package glob

import "unicode/utf8"

// Match reports whether the whole name matches the pattern.
func Match(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0 // the last star, and the end of its present match in name
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
		mark += w // extend the star's match by one character
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// step matches one character other than a star. It returns the widths matched in pattern and name; 0 means no match.
func step(pattern, name string) (int, int) {
	pr, pw := utf8.DecodeRuneInString(pattern)
	nr, nw := utf8.DecodeRuneInString(name)
	if pr == '?' || (pr == nr && pattern[:pw] == name[:nw]) {
		return pw, nw
	}
	return 0, 0
}

// Any reports whether the name matches at least one of the patterns.
func Any(patterns []string, name string) bool {
	for _, p := range patterns {
		if Match(p, name) {
			return true
		}
	}
	return false
}
