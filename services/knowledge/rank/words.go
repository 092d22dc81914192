package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord is the length in bytes of the longest word. Longer ones, such as base64 in a text, are left out.
const maxWord = 64

// analyse calls emit for each analysed word of a text, in order. An analysed word consists of letters and digits only, so that it is one
// token to every engine's index. whole is set for the words that repeat others: "createtemp", after "creat" and "temp", for "CreateTemp".
func analyse(text string, emit func(word string, whole bool)) {
	for len(text) > 0 {
		start := strings.IndexFunc(text, isWordRune)
		if start < 0 {
			return
		}
		text = text[start:]
		end := runEnd(text)
		analyseRun(text[:end], emit)
		text = text[end:]
	}
}

func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

// isJoint reports whether r joins two words to one if it stands between letters or digits.
func isJoint(r rune) bool {
	return r == '_' || r == '.' || r == '-' || r == '\'' || r == '’'
}

// runEnd returns where the run of words that text begins with ends: letters, digits, marks, and joints between them.
func runEnd(text string) int {
	end := 0
	for i, r := range text {
		switch {
		case isWordRune(r) || unicode.Is(unicode.M, r):
			if i > end { // r follows a joint
				end = i
			}
			end += utf8.RuneLen(r)
		case isJoint(r) && i == end:
		default:
			return end
		}
	}
	return end
}

// analyseRun emits the words of a run: those of its segments, each segment as a whole if it has several, and the run as a whole.
func analyseRun(run string, emit func(word string, whole bool)) {
	run = possessive(run)
	segments := strings.FieldsFunc(run, isJoint)
	for _, segment := range segments {
		parts := split(segment)
		for _, part := range parts {
			if isUnspaced(part) {
				bigrams(part, emit)
			} else {
				emitWord(part, false, emit)
			}
		}
		if len(parts) > 1 && len(segments) > 1 && !isUnspaced(segment) {
			emitWord(segment, true, emit)
		}
	}
	if len(run) <= 2*maxWord && (len(segments) > 1 || len(split(run)) > 1) && !isUnspaced(run) {
		emitWord(strings.Join(segments, ""), true, emit)
	}
}

// possessive returns run without an English "'s" at its end.
func possessive(run string) string {
	for _, suffix := range []string{"'s", "’s", "'S", "’S"} {
		if rest, ok := strings.CutSuffix(run, suffix); ok && rest != "" {
			return rest
		}
	}
	return run
}

// split cuts a segment where an identifier has its borders: fooBar, HTTPServer, sha256, and where a script without spaces begins or ends.
func split(segment string) []string {
	runes := []rune(segment)
	var parts []string
	start := 0
	for i := 1; i < len(runes); i++ {
		next := rune(0)
		if i+1 < len(runes) {
			next = runes[i+1]
		}
		if isBorder(runes[i-1], runes[i], next) {
			parts = append(parts, string(runes[start:i]))
			start = i
		}
	}
	return append(parts, string(runes[start:]))
}

// isBorder reports whether a part ends between a and b, which next follows.
func isBorder(a, b, next rune) bool {
	switch {
	case unicode.Is(unicode.M, b):
		return false
	case unspaced(a) != unspaced(b):
		return true
	case unicode.IsDigit(a) != unicode.IsDigit(b):
		return true
	case unicode.IsLower(a) && unicode.IsUpper(b):
		return true
	default:
		return unicode.IsUpper(a) && unicode.IsUpper(b) && unicode.IsLower(next)
	}
}

// unspaced reports whether r is of a script that does not put spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 &&
		unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

func isUnspaced(word string) bool {
	return strings.ContainsFunc(word, unspaced)
}

// bigrams emits each pair of neighbouring characters, or the only one: the words of a text without spaces are not known.
func bigrams(text string, emit func(word string, whole bool)) {
	runes := []rune(fold(text))
	if len(runes) == 1 {
		emit(string(runes), false)
		return
	}
	for i := 1; i < len(runes); i++ {
		emit(string(runes[i-1:i+1]), false)
	}
}

func emitWord(word string, whole bool, emit func(word string, whole bool)) {
	word = fold(word)
	if word == "" || len(word) > maxWord {
		return
	}
	if isPlain(word) {
		word = english.Stem(word, false)
	}
	emit(word, whole)
}

// isPlain reports whether a word has nothing but the letters a to z, so that it may be English.
func isPlain(word string) bool {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return false
		}
	}
	return true
}

// fold returns a word without differences of case, width, ligature and accent.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(word)
	}
	folded := norm.NFKD.String(cases.Fold().String(norm.NFKC.String(word)))
	return strings.Map(func(r rune) rune {
		if isWordRune(r) {
			return r
		}
		return -1
	}, folded)
}
