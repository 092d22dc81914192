// Package eventfeed merges the domain events of the services into one list and one stream. Each service numbers its own events; a cursor
// holds a number for each service, so that it is valid on every replica and never expires.
package eventfeed

import (
	"errors"
	"strconv"
	"strings"
)

// ErrCursor means that a text is no cursor, or a cursor that is ahead of the events.
var ErrCursor = errors.New("no valid cursor")

// The streams that are merged, in the order of their events of the same time.
const (
	registry = iota
	sessions
	policy
	streams
)

// letters name the streams in cursors.
const letters = "rsp"

// Position is how far each stream was read.
type Position [streams]int64

// String returns the position as a cursor: "r12.s7.p3".
func (p Position) String() string {
	out := make([]byte, 0, 48)
	for i, n := range p {
		if i > 0 {
			out = append(out, '.')
		}
		out = strconv.AppendInt(append(out, letters[i]), n, 10)
	}
	return string(out)
}

// maxDigits is the maximum length of a number.
const maxDigits = 18

// Parse reads a cursor in exactly the form in which String writes it; ErrCursor.
func Parse(text string) (Position, error) {
	var p Position
	parts := strings.Split(text, ".")
	if len(text) > streams*(maxDigits+2) || len(parts) != streams {
		return p, ErrCursor
	}
	for i, part := range parts {
		if len(part) < 2 || len(part) > maxDigits+1 || part[0] != letters[i] {
			return p, ErrCursor
		}
		n, err := strconv.ParseInt(part[1:], 10, 64)
		if err != nil || n < 0 {
			return p, ErrCursor
		}
		p[i] = n
	}
	if p.String() != text {
		return p, ErrCursor
	}
	return p, nil
}
