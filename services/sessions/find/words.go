// Package find makes sessions and turns findable by the words of their titles and of what users and assistants wrote in them.
package find

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// maxWord is how many bytes of a word count.
	maxWord = 48
	// maxText is how many bytes of one message are searched, and maxWords how many different words of it.
	maxText, maxWords = 1 << 20, 4000
	// maxQuery is how many words of a query count.
	maxQuery = 8
)

// Words returns the distinct words of a text in the order of their first use, at most limit: runs of letters and digits in lower case
// and without accents. Characters of scripts that put no spaces between words are words of their own.
func Words(text string, limit int) []string {
	var out []string
	seen := map[string]bool{}
	var word strings.Builder
	end := func() {
		if w := word.String(); w != "" && !seen[w] && len(out) < limit {
			seen[w] = true
			out = append(out, w)
		}
		word.Reset()
	}
	for _, r := range norm.NFKD.String(strings.ToValidUTF8(text, " ")) {
		switch {
		case unicode.Is(unicode.Mn, r) || r == '\u200d' || r == '\u00ad': // accents, joiners, soft hyphens
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			end()
			word.WriteRune(r)
			end()
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if r = unicode.ToLower(r); word.Len()+len(string(r)) <= maxWord {
				word.WriteRune(r)
			}
		default:
			end()
		}
		if len(out) == limit {
			return out
		}
	}
	end()
	return out
}

// Query returns the words of a query.
func Query(q string) []string { return Words(q, maxQuery) }
