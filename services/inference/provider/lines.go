package provider

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/windlass-dev/windlass/libs/sse"
)

// Lines is the framing of answers that have one JSON value a line.
func Lines() Framing {
	return Framing{Media: "application/x-ndjson", Open: func(r io.Reader) Frames { return &lines{from: bufio.NewReader(r)} }}
}

type lines struct {
	from *bufio.Reader
	line []byte
	n    int
}

// More implements Frames.
func (l *lines) More() bool {
	here, _ := l.from.Peek(l.from.Buffered()) // never more than is buffered
	return bytes.IndexByte(here, '\n') >= 0
}

// Next implements Frames. An empty line is an event without data.
func (l *lines) Next() (sse.Event, error) {
	if l.n++; l.n > MaxEvents {
		return sse.Event{}, fmt.Errorf("%w: more than %d", sse.ErrTooMany, MaxEvents)
	}
	l.line = l.line[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		l.line = append(l.line, part...)
		switch {
		case len(l.line) > MaxEvent:
			return sse.Event{}, fmt.Errorf("%w: more than %d bytes", sse.ErrTooLong, MaxEvent)
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(l.line) == 0):
			return sse.Event{}, err
		}
		return sse.Event{Data: bytes.TrimSpace(l.line)}, nil
	}
}
