package chunk

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// separator returns how long the first part of a text is, with what separates it from the next one. It is at least 1, and ends between
// characters.
type separator func(text string) int

// separators are the ways to cut a block of a kind, the best one first.
func separators(kind parse.Kind) []separator {
	switch kind {
	case parse.Code:
		return []separator{emptyLine, line, word}
	case parse.Table, parse.List:
		return []separator{line, cell, sentence, word}
	case parse.Paragraph, parse.Heading, parse.Quote:
	}
	return []separator{emptyLine, sentence, line, word}
}

// after returns the length of the text up to the end of its first separator, all of it without one.
func after(text, separator string) int {
	if i := strings.Index(text, separator); i >= 0 {
		return spaces(text, i+len(separator))
	}
	return len(text)
}

// spaces returns where the blank characters that begin at i end, and what is combined with the last of them.
func spaces(text string, i int) int {
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !unicode.IsSpace(r) && mayCut(text, i) {
			break
		}
		i += size
	}
	return i
}

func emptyLine(text string) int { return after(text, "\n\n") }

func line(text string) int { return after(text, "\n") }

func cell(text string) int { return after(text, " | ") }

func word(text string) int {
	if i := strings.IndexFunc(text, unicode.IsSpace); i >= 0 {
		_, size := utf8.DecodeRuneInString(text[i:])
		return spaces(text, i+size)
	}
	return len(text)
}

// sentence ends after a full stop, and what closes around it, before a space; in scripts without spaces after the full stop itself.
func sentence(text string) int {
	for i, r := range text {
		end := i + utf8.RuneLen(r)
		switch {
		case strings.ContainsRune("。！？｡", r):
			for end < len(text) && strings.HasPrefix(text[end:], "」") {
				end += len("」")
			}
			return spaces(text, end)
		case strings.ContainsRune(".!?…", r):
			for end < len(text) && strings.ContainsRune(`"')]`, rune(text[end])) {
				end++
			}
			if end < len(text) && (text[end] == ' ' || text[end] == '\n') {
				return spaces(text, end)
			}
		}
	}
	return len(text)
}
