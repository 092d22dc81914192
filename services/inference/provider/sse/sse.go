// Package sse reads a stream of server-sent events as model providers send them, within bounds and without trusting it.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// MaxEvent is how many bytes one event may have. MaxEvents and MaxLines are how many events, comments included, and lines a stream may have: the smallest ones
// are two bytes and one byte long, so that a bound of bytes alone allows tens of millions.
const (
	MaxEvent  = 8 << 20
	MaxEvents = 180_000
	MaxLines  = 1_000_000
)

var (
	// ErrTooLong says that an event is longer than MaxEvent.
	ErrTooLong = errors.New("event too long")
	// ErrTooMany says that a stream has more than MaxEvents events or MaxLines lines.
	ErrTooMany = errors.New("too many events")
	// ErrEncoding says that an event is not UTF-8.
	ErrEncoding = errors.New("event is not valid UTF-8")
)

// Event is one event. An event without data stands for a comment: a sign of life.
type Event struct {
	// Type is what the stream calls it, "" when it has no name.
	Type string
	// Data are its data lines, joined by a line feed. Valid until the next call of Next.
	Data []byte
}

// Reader reads events. Lines may end in LF or CRLF.
type Reader struct {
	from          *bufio.Reader
	data          []byte
	line          []byte
	events, lines int
	ended         bool
}

// NewReader reads events from r.
func NewReader(r io.Reader) *Reader { return &Reader{from: bufio.NewReader(r)} }

// Next gives the next event or comment, io.EOF at the stream's end. An event that the end cuts before its empty line is given
// too: some servers forget that line. Other errors are ErrTooLong, ErrTooMany, ErrEncoding or the reader's.
func (r *Reader) Next() (Event, error) {
	if r.events++; r.events > MaxEvents {
		return Event{}, fmt.Errorf("%w: more than %d", ErrTooMany, MaxEvents)
	}
	var e Event
	r.data = r.data[:0]
	some := false
	for !r.ended {
		line, err := r.readLine()
		if errors.Is(err, io.EOF) {
			r.ended = true
		} else if err != nil {
			return Event{}, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0:
			if some {
				return r.event(e)
			}
			e.Type = ""
		case len(name) == 0: // a comment
			if !some && e.Type == "" {
				return Event{}, nil
			}
		case string(name) == "event":
			e.Type = string(value)
		case string(name) == "data":
			if some {
				r.data = append(r.data, '\n')
			}
			if some = true; len(r.data)+len(value) > MaxEvent {
				return Event{}, fmt.Errorf("%w: more than %d bytes", ErrTooLong, MaxEvent)
			}
			r.data = append(r.data, value...)
		}
	}
	if some {
		return r.event(e)
	}
	return Event{}, io.EOF
}

// More tells whether the end of the next event is here already, so that Next will not wait.
func (r *Reader) More() bool {
	here, _ := r.from.Peek(r.from.Buffered()) // never more than there is
	return bytes.Contains(here, []byte("\n\n")) || bytes.Contains(here, []byte("\n\r\n"))
}

func (r *Reader) event(e Event) (Event, error) {
	if e.Data = r.data; !utf8.Valid(e.Data) {
		return Event{}, ErrEncoding
	}
	return e, nil
}

// readLine gives a line without its end; io.EOF comes with what is left.
func (r *Reader) readLine() ([]byte, error) {
	if r.lines++; r.lines > MaxLines {
		return nil, fmt.Errorf("%w: more than %d lines", ErrTooMany, MaxLines)
	}
	r.line = r.line[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > MaxEvent:
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, MaxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.line, []byte("\n")), []byte("\r"))
		return bytes.TrimPrefix(line, []byte("\ufeff")), err
	}
}
