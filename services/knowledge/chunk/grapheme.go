package chunk

import (
	"unicode"
	"unicode/utf8"
)

const (
	joiner            = '\u200d' // combines what is around it
	firstFlag         = '\U0001F1E6'
	lastFlag          = '\U0001F1FF' // two of these letters are a flag
	firstTone         = '\U0001F3FB'
	lastTone          = '\U0001F3FF' // of skin
	firstTag, lastTag = '\U000E0020', '\U000E007F'
)

// mayCut reports whether a text may be cut at i, where a character of UTF-8 begins, without cutting what users see as one
// character. It refuses
// more places than the extended grapheme clusters of Unicode do, and none less but for rare marks in front of a character.
func mayCut(text string, i int) bool {
	if i <= 0 || i >= len(text) {
		return true
	}
	next, _ := utf8.DecodeRuneInString(text[i:])
	last, _ := utf8.DecodeLastRuneInString(text[:i])
	switch {
	case next < 0x300 && last < 0x300:
		return last != '\r' || next != '\n'
	case unicode.IsControl(last), unicode.IsSpace(next):
		return true
	case unicode.In(next, unicode.M), next == joiner, last == joiner,
		next >= firstTone && next <= lastTone, next >= firstTag && next <= lastTag:
		return false
	case isLinker(last):
		return false // of a syllable
	case isJamo(next) && (isJamo(last) || unicode.Is(unicode.Hangul, last)):
		return false
	case isFlag(next) && isFlag(last):
		return flagsBefore(text, i)%2 == 0
	}
	return true
}

func isFlag(r rune) bool { return r >= firstFlag && r <= lastFlag }

// flagsBefore counts the letters of flags that end at i.
func flagsBefore(text string, i int) (n int) {
	for i > 0 {
		r, size := utf8.DecodeLastRuneInString(text[:i])
		if !isFlag(r) {
			break
		}
		n++
		i -= size
	}
	return n
}

// isJamo reports whether a character is a part of a Korean syllable.
func isJamo(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97c || r >= 0xd7b0 && r <= 0xd7fb
}

// isLinker reports whether a mark links the consonants around it in a script of India or its neighbours.
func isLinker(r rune) bool {
	switch r {
	case 0x94d, 0x9cd, 0xa4d, 0xacd, 0xb4d, 0xc4d, 0xccd, 0xd4d, 0xdca, 0x1039, 0x17d2, 0x1a60, 0x1b44, 0x1bab, 0xa806, 0xa8c4, 0xa953, 0xa9c0,
		0xaaf6, 0x11133, 0x10a3f:
		return true
	}
	return false
}
