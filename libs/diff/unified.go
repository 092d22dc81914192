package diff

import (
	"fmt"
	"strings"
)

// around is the number of equal lines of context before and after a difference.
const around = 3

// Unified returns the line differences of two texts in the unified format without file names. It is empty if the texts are equal.
func Unified(a, b string) string {
	if a == b {
		return ""
	}
	left, right := lines(a), lines(b)
	pairs := Align(len(left), len(right), func(i, j int) bool { return left[i] == right[j] })
	var out strings.Builder
	for at := 0; at < len(pairs); {
		begin, end := hunk(pairs, at)
		if begin == end {
			break
		}
		writeHunk(&out, pairs, begin, end, left, right)
		at = end
	}
	return out.String()
}

// lines splits a text. A trailing newline is kept as an empty last line, so that "a" and "a\n" differ.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func same(p Pair) bool { return p.A != Only && p.B != Only }

// hunk returns the next rows to print, from a row on; begin equals end if there are none.
func hunk(pairs []Pair, from int) (begin, end int) {
	first := from
	for first < len(pairs) && same(pairs[first]) {
		first++
	}
	if first == len(pairs) {
		return first, first
	}
	last := first // the last different row
	for i := first; i < len(pairs) && i-last <= 2*around; i++ {
		if !same(pairs[i]) {
			last = i
		}
	}
	return max(from, first-around), min(len(pairs), last+1+around)
}

func writeHunk(out *strings.Builder, pairs []Pair, begin, end int, left, right []string) {
	var a, b int // lines before the hunk
	for _, p := range pairs[:begin] {
		a, b = a+one(p.A), b+one(p.B)
	}
	var body strings.Builder
	var inA, inB int
	for _, p := range pairs[begin:end] {
		inA, inB = inA+one(p.A), inB+one(p.B)
		switch {
		case same(p):
			body.WriteString(" " + left[p.A] + "\n")
		case p.B == Only:
			body.WriteString("-" + left[p.A] + "\n")
		default:
			body.WriteString("+" + right[p.B] + "\n")
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(a, inA), span(b, inB))
	out.WriteString(body.String())
}

func one(index int) int {
	if index == Only {
		return 0
	}
	return 1
}

// span formats a line range as the unified format does: an empty one by the line before it.
func span(before, count int) string {
	if count == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, count)
}
