// Package truncate shortens texts without splitting a character.
package truncate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark stands for the omitted text.
const mark = "…"

// Cut returns at most the first limit bytes of a text. Invalid UTF-8 in a longer text is dropped.
func Cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// Bytes is Cut, with "…" appended if the text was longer.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return Cut(text, limit) + mark
}

// Chars returns at most the first limit characters of a text, with "…" appended if it was longer.
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

// Names returns at most the first most names as they may be in labels and events: of at most limit printable ASCII characters each, without
// spaces, sorted, and each once.
func Names(names []string, most, limit int) []string {
	var out []string
	for _, name := range names {
		clean := strings.Map(func(r rune) rune {
			if r > ' ' && r < unicode.MaxASCII {
				return r
			}
			return -1
		}, name)
		if clean != "" && len(out) < most {
			out = append(out, clean[:min(len(clean), limit)])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Line returns the beginning of a text as one line of at most limit characters, including "…". Each run of spaces and control characters
// become one space.
func Line(text string, limit int) string {
	const enough = 8 // bytes per wanted character, since many may be spaces
	words := strings.FieldsFunc(Cut(text, enough*limit), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	line := strings.Join(words, " ")
	if utf8.RuneCountInString(line) <= limit {
		return line
	}
	return strings.TrimRightFunc(strings.TrimSuffix(Chars(line, limit-1), mark), unicode.IsSpace) + mark
}
