package provider

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Fragment is a part of a text in an answer. Servers cut texts anywhere, also between the two halves of a character beyond U+FFFF, which
// JSON escapes one by one. Fragment keeps a half without its other half as the three bytes that UTF-8 would have for it; Halves joins them.
type Fragment string

// UnmarshalJSON reads a string or null.
func (t *Fragment) UnmarshalJSON(raw []byte) error {
	if !bytes.Contains(raw, []byte(`\u`)) || raw[0] != '"' {
		return json.Unmarshal(raw, (*string)(t))
	}
	var b strings.Builder
	for i := 1; i < len(raw)-1; i++ { // the parser has checked that it is valid
		if raw[i] != '\\' {
			b.WriteByte(raw[i])
			continue
		}
		if i++; raw[i] != 'u' {
			b.WriteString(escaped(raw[i]))
			continue
		}
		r := unit(raw[i:])
		i += 4
		if utf16.IsSurrogate(r) && bytes.HasPrefix(raw[i+1:], []byte(`\u`)) {
			if both := utf16.DecodeRune(r, unit(raw[i+2:])); both != utf8.RuneError {
				r = both
				i += 6
			}
		}
		if utf16.IsSurrogate(r) {
			b.Write([]byte{0xE0 | byte(r>>12), 0x80 | byte(r>>6)&0x3F, 0x80 | byte(r)&0x3F})
			continue
		}
		b.WriteRune(r)
	}
	*t = Fragment(b.String())
	return nil
}

func escaped(c byte) string {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i : i+1]
	}
	return string(rune(c))
}

// unit reads u and four hex digits.
func unit(raw []byte) rune {
	if len(raw) < 5 {
		return utf8.RuneError
	}
	n, err := strconv.ParseUint(string(raw[1:5]), 16, 16)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// Halves joins the halves of characters in the pieces of one text. The zero value is ready.
type Halves struct{ first string }

// Join returns a piece with whole characters only. A first half at its end waits for the next piece; a half that is alone becomes one
// replacement character.
func (h *Halves) Join(piece string) string {
	if h.first == "" && utf8.ValidString(piece) {
		return piece
	}
	if piece == "" {
		return ""
	}
	piece = h.first + piece
	h.first = ""
	var b strings.Builder
	for i := 0; i < len(piece); {
		half, ok := surrogate(piece[i:])
		switch {
		case !ok:
			_, n := utf8.DecodeRuneInString(piece[i:])
			b.WriteString(piece[i : i+n])
			i += n
			continue
		case i+3 == len(piece) && half < 0xDC00:
			h.first = piece[i:]
		default:
			next, _ := surrogate(piece[i+3:])
			both := utf16.DecodeRune(half, next)
			b.WriteRune(both) // the replacement character if they are no pair
			if both != utf8.RuneError {
				i += 3
			}
		}
		i += 3
	}
	return b.String()
}

// End returns what is left when no piece follows.
func (h *Halves) End() string {
	if h.first == "" {
		return ""
	}
	h.first = ""
	return string(utf8.RuneError)
}

// surrogate reads half of a character at the beginning of a text.
func surrogate(text string) (rune, bool) {
	if len(text) < 3 || text[0] != 0xED || text[1] < 0xA0 || text[1] > 0xBF || text[2]&0xC0 != 0x80 {
		return 0, false
	}
	return rune(text[0]&0x0F)<<12 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F), true
}
