// Package tokens estimates how many tokens a text takes, without a provider or its vocabulary. It overestimates, so that what is estimated
// to fit does fit.
package tokens

import (
	"unicode"
	"unicode/utf8"
)

// The overhead per message, and what providers charge for an image of medium size, in tokens.
const (
	PerMessage = 4
	PerImage   = 1000
)

// unit is a hundredth of a token: estimates add up fractions of tokens.
const unit = 100

// class is the class of a character. Tokenizers start a new token where the class changes.
type class int

const (
	none class = iota
	lower
	upper
	digit
	space
	newline
	mark
	other
)

// Letters of a word, capitals, and digits that share a token.
const (
	perWord     = 6
	perCapitals = 3
	perNumber   = 3
)

// Text estimates the tokens of a text. Tokenizers differ: on texts in many languages the estimate matches those with older, smaller
// vocabularies; newer ones need up to three times fewer tokens for some scripts, and are overestimated.
func Text(text string) int {
	sum, run := 0, 0
	before := none
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			now := classOf(c)
			if now == lower && before == upper && run == 1 { // a capital begins a word
				before, run = lower, 2
				continue
			}
			if now != before {
				if now == digit && before == space { // no token combines a space with digits
					sum += unit / 2
				}
				before, run = now, 0
			}
			run++
			sum += asciiCost(now, run)
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if before != other {
			before, run = other, 0
		}
		sum += costOf(r)
	}
	return (sum + unit - 1) / unit
}

// asciiCost returns the cost of the n-th character of a run.
func asciiCost(c class, n int) int {
	switch c {
	case lower:
		if (n-1)%perWord == 0 {
			return unit
		}
	case upper:
		if (n-1)%perCapitals == 0 {
			return unit
		}
	case digit:
		if (n-1)%perNumber == 0 {
			return unit
		}
	case space: // one space belongs to the next word
		if n > 1 && (n-2)%16 == 0 {
			return unit
		}
	case newline:
		if (n-1)%4 == 0 {
			return unit
		}
	case mark:
		if (n-1)%2 == 0 {
			return 80
		}
		return 60
	}
	return 0
}

// costOf returns the cost of a character outside ASCII, by its script.
func costOf(r rune) int {
	switch {
	case r < 0x250: // Latin with accents
		return 60
	case r < 0x530: // Greek, Cyrillic
		return 42
	case r < 0x780: // Hebrew, Arabic
		return 68
	case r < 0x2000: // scripts of South and Southeast Asia, and more
		return 90
	case r < 0x2E80: // punctuation, symbols
		return unit
	case unicode.In(r, unicode.Hangul):
		return 135
	case r < 0x10000: // Han, kana
		return 115
	default: // emoji, rare characters
		return 2 * unit
	}
}

// classOf returns the class of an ASCII character.
func classOf(c byte) class {
	switch {
	case c >= 'a' && c <= 'z':
		return lower
	case c == ' ':
		return space
	case c >= 'A' && c <= 'Z':
		return upper
	case c >= '0' && c <= '9':
		return digit
	case c < ' ':
		return newline
	default:
		return mark
	}
}
