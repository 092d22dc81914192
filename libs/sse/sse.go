// Package sse reads untrusted server-sent events within limits.
package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

var (
	// ErrTooLong means that an event or a line is longer than Config.MaxEvent.
	ErrTooLong = errors.New("event too long")
	// ErrTooMany means that a stream has more events or lines than its limits allow.
	ErrTooMany = errors.New("too many events")
)

// Config limits a stream, and selects what to report.
type Config struct {
	// MaxEvent is the maximum size of a line, and of an event's data, in bytes. Required.
	MaxEvent int
	// MaxEvents and MaxLines limit the events, including comments, and the lines of a stream; 0 means no limit. Without them a sender of the
	// smallest ones, two bytes and one byte long, keeps the reader busy indefinitely.
	MaxEvents, MaxLines int
	// Comments reports comments as events without data, as keep-alives.
	Comments bool
	// Unfinished reports an event that the end of the stream cuts off before its empty line: some senders omit that line.
	Unfinished bool
}

// Event is one event, or a comment, of which all fields are zero.
type Event struct {
	// ID is its id, "" if it has none.
	ID string
	// Type is the event's name, "" if it has none.
	Type string
	// Data are its data lines, joined by a line feed. Valid until the next call of Next.
	Data []byte
}

// Reader reads events. Lines end in LF or CRLF; retry fields are not reported.
type Reader struct {
	cfg           Config
	from          *bufio.Reader
	data          []byte
	line          []byte
	lastID        string
	events, lines int
	ended         bool
}

// NewReader returns a reader of the events in r.
func NewReader(r io.Reader, cfg Config) *Reader { return &Reader{cfg: cfg, from: bufio.NewReader(r)} }

// Next returns the next event with data, or comment; io.EOF at the stream's end. Other errors are ErrTooLong, ErrTooMany or the reader's.
func (r *Reader) Next() (Event, error) {
	if r.events++; r.cfg.MaxEvents > 0 && r.events > r.cfg.MaxEvents {
		return Event{}, fmt.Errorf("%w: more than %d", ErrTooMany, r.cfg.MaxEvents)
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
		case len(line) == 0 && !r.ended:
			if e.ID != "" {
				r.lastID = e.ID
			}
			if some {
				e.Data = r.data
				return e, nil
			}
			e = Event{}
		case len(name) == 0: // a comment, or nothing at the end
			if r.cfg.Comments && !r.ended && !some && e.ID == "" && e.Type == "" {
				return Event{}, nil
			}
		case string(name) == "id" && bytes.IndexByte(value, 0) < 0:
			e.ID = string(value)
		case string(name) == "event":
			e.Type = string(value)
		case string(name) == "data":
			if err := r.add(value, some); err != nil {
				return Event{}, err
			}
			some = true
		}
	}
	if some && r.cfg.Unfinished {
		e.Data = r.data
		return e, nil
	}
	return Event{}, io.EOF
}

// LastID returns the last id of an event, or of an id without an event, "" before the first.
func (r *Reader) LastID() string { return r.lastID }

// More reports whether the end of the next event is already buffered, so that Next will not block.
func (r *Reader) More() bool {
	here, _ := r.from.Peek(r.from.Buffered()) // never more than is buffered
	return bytes.Contains(here, []byte("\n\n")) || bytes.Contains(here, []byte("\n\r\n"))
}

func (r *Reader) add(value []byte, some bool) error {
	if some {
		r.data = append(r.data, '\n')
	}
	if len(r.data)+len(value) > r.cfg.MaxEvent {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.cfg.MaxEvent)
	}
	r.data = append(r.data, value...)
	return nil
}

// readLine returns a line without its end; io.EOF comes with the remainder.
func (r *Reader) readLine() ([]byte, error) {
	if r.lines++; r.cfg.MaxLines > 0 && r.lines > r.cfg.MaxLines {
		return nil, fmt.Errorf("%w: more than %d lines", ErrTooMany, r.cfg.MaxLines)
	}
	r.line = r.line[:0]
	for {
		part, err := r.from.ReadSlice('\n')
		r.line = append(r.line, part...)
		switch {
		case len(r.line) > r.cfg.MaxEvent+len("event: \r\n"): // the longest field that is read
			return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLong, r.cfg.MaxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		line := bytes.TrimSuffix(bytes.TrimSuffix(r.line, []byte("\n")), []byte("\r"))
		if r.lines == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, err
	}
}
