// Package truncate shortens texts, never in the middle of a character.
package truncate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark stands for what was left out.
const mark = "…"

// Cut returns at most the first limit bytes of a text. Bytes of a longer text that are not UTF-8 are dropped.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// Bytes is Cut with "…" after a text that was longer.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Cut(text, limit) + mark
}

// Chars returns at most the first limit characters of a text, with "…" after them if it was longer.
func Chars(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for i := range text {
		if limit == 0 {
			return text[:i] + mark
		}
		limit--
	}
	return text
}

// Line returns the beginning of a text as one line of at most limit characters, "…" included. Runs of spaces and control characters become one space.
func Line(text string, limit int) string {
	const enough = 8 // bytes of text for each character wanted, most of them perhaps space
	words := strings.FieldsFunc(Cut(text, enough*limit), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	line := strings.Join(words, " ")
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return strings.TrimRightFunc(strings.TrimSuffix(Chars(line, limit-1), mark), unicode.IsSpace) + mark
}
