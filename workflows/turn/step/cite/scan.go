package cite

import (
	"github.com/windlass-dev/windlass/workflows/contract/passage"
)

const (
	// maxUnit bounds the marks that stand in one pair of brackets, in bytes.
	maxUnit = 128
	// maxNumber is how many digits the number of a passage has at most.
	maxNumber = 3
	// clearDigits is how many digits of a mark in brackets make it clear that it is one.
	clearDigits = 2
)

// unit is one mark, or several in brackets, at the beginning of a text.
type unit struct {
	length int // 0: there is none
	marks  []string
	spaced bool // a space stands before it
	// partial means that the text ends within it. clear: it can hardly be anything else.
	partial, clear bool
}

// scan returns the unit at the beginning of a text, which is that of a whole one at its end.
func scan(text string, end bool) unit {
	if text[0] == ' ' {
		if len(text) == 1 {
			return unit{length: 1, partial: true}
		}
		if text[1] != '[' {
			return unit{}
		}
		u := inBrackets(text[1:])
		if u.length > 0 {
			u.length, u.spaced = u.length+1, true
		}
		return u
	}
	if text[0] == '[' {
		return inBrackets(text)
	}
	return bare(text, end)
}

// inBrackets reads "[MARK, MARK]".
func inBrackets(text string) unit {
	u := unit{}
	for i := 1; ; {
		for i < len(text) && len(u.marks) > 0 && (text[i] == ' ' || text[i] == ',' || text[i] == ';') {
			i++
		}
		switch {
		case i > maxUnit:
			return unit{}
		case i == len(text):
			u.length, u.partial = i, true
			return u
		case text[i] == ']' && len(u.marks) > 0:
			u.length = i + 1
			return u
		}
		m := readMark(text[i:])
		switch {
		case m.length == 0:
			return unit{}
		case m.partial:
			u.length, u.partial, u.clear = len(text), true, m.digits >= clearDigits
			return u
		}
		u.marks = append(u.marks, text[i:i+m.length])
		i += m.length
	}
}

// bare reads a mark without brackets.
func bare(text string, end bool) unit {
	m := readMark(text)
	switch {
	case m.length == 0:
		return unit{}
	case m.partial:
		return unit{length: len(text), partial: true, clear: m.digits == passage.HexDigits}
	case m.length == len(text) && !end:
		return unit{length: len(text), partial: true}
	case m.length < len(text) && wordByte(text[m.length]):
		return unit{}
	}
	return unit{length: m.length, marks: []string{text[:m.length]}}
}

// mark is what readMark has read.
type mark struct {
	length  int // 0: it is none
	digits  int // hexadecimal ones
	partial bool
}

// readMark reads a mark at the beginning of a text. One at the end of the text may have another digit.
func readMark(text string) mark {
	if text[0] != 'k' {
		return mark{}
	}
	m := mark{length: 1}
	for m.digits < passage.HexDigits && m.length < len(text) {
		if !hexByte(text[m.length]) {
			return mark{}
		}
		m.length++
		m.digits++
	}
	if m.length == len(text) {
		m.partial = true
		return m
	}
	if text[m.length] != '.' {
		return mark{}
	}
	m.length++
	number := 0
	for number < maxNumber && m.length < len(text) && text[m.length] >= '0' && text[m.length] <= '9' {
		m.length++
		number++
	}
	if number == 0 && m.length < len(text) {
		return mark{}
	}
	m.partial = number == 0
	return m
}

func hexByte(c byte) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' }

// wordByte reports whether a byte continues a word: a mark does not begin behind it.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}
