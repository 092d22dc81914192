package shield

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded applies a detector to the text as a reader understands it: without invisible characters, with full-width and mathematical
// letters, foreign digits, dashes and spaces as their ASCII forms. The findings are those of the text itself. Letters of other scripts
// that only look like Latin ones are left alone.
func folded(find detector) detector {
	return func(text string) []finding {
		plain, at := fold(text)
		found := find(plain)
		if at == nil {
			return found
		}
		for i, f := range found {
			found[i].from, found[i].to = at[f.from], at[f.to]
		}
		return found
	}
}

// fold returns the folded text, and the position in the text of each of its bytes and of its end; nil if nothing changes.
func fold(text string) (string, []int) {
	first := 0
	for first < len(text) && text[first] < utf8.RuneSelf {
		first++
	}
	if first == len(text) {
		return text, nil
	}
	out, at := make([]byte, 0, len(text)), make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		c, width := rune(text[i]), 1
		if c >= utf8.RuneSelf {
			c, width = utf8.DecodeRuneInString(text[i:])
		}
		before := len(out)
		switch {
		case c < utf8.RuneSelf:
			out = append(out, byte(c))
		case c == utf8.RuneError && width == 1: // not UTF-8
			out = append(out, text[i])
		case !unseen(c):
			out = appendFolded(out, c, text[i:i+width])
		}
		for n := range len(out) - before { // bytes of a kept rune have their own positions
			at = append(at, i+min(n, width-1))
		}
		i += width
	}
	return string(out), append(at, len(text))
}

// unseen reports whether a rune has no width.
func unseen(c rune) bool {
	switch {
	case c == 0x00AD, c == 0x034F, c == 0x180E, c == 0xFEFF:
	case c >= 0x200B && c <= 0x200F, c >= 0x202A && c <= 0x202E, c >= 0x2060 && c <= 0x206F:
	case c >= 0xE0000 && c <= 0xE01EF, c >= 0xFE00 && c <= 0xFE0F:
	default:
		return false
	}
	return true
}

func appendFolded(out []byte, c rune, text string) []byte {
	switch {
	case c < 0x0660 && c != 0x00A0, c >= 0x3400 && c < 0xA000, c >= 0xAC00 && c < 0xD800: // letters of the common scripts
		return append(out, text...)
	case unicode.Is(unicode.Zs, c):
		return append(out, ' ')
	case unicode.Is(unicode.Pd, c), c == 0x2212, c == 0x00AD:
		return append(out, '-')
	}
	if d, ok := digit(c); ok {
		return append(out, d)
	}
	start := len(out)
	out = norm.NFKC.AppendString(out, text)
	for _, b := range out[start:] {
		if b >= utf8.RuneSelf {
			return append(out[:start], text...)
		}
	}
	return out
}

// digit returns the ASCII digit of a decimal digit of any script.
func digit(c rune) (byte, bool) {
	if !unicode.Is(unicode.Nd, c) {
		return 0, false
	}
	for _, r := range unicode.Nd.R16 {
		if c >= rune(r.Lo) && c <= rune(r.Hi) {
			return '0' + byte((c-rune(r.Lo))%10), true
		}
	}
	for _, r := range unicode.Nd.R32 {
		if c >= rune(r.Lo) && c <= rune(r.Hi) {
			return '0' + byte((c-rune(r.Lo))%10), true
		}
	}
	return 0, false
}
