package bedrock

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/aws/smithy-go/eventstream"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// media is the media type of answers.
const media = "application/vnd.amazon.eventstream"

// frames are the messages of an event stream.
type frames struct {
	from   *bufio.Reader
	decode *eventstream.Decoder
	n      int
}

// Framing implements provider.Framed.
func (*stream) Framing() provider.Framing {
	return provider.Framing{Media: media, Open: func(r io.Reader) provider.Frames {
		return &frames{from: bufio.NewReader(r), decode: eventstream.NewDecoder()}
	}}
}

// lengthSize is the size of a message's length, with which it begins.
const lengthSize = 4

// More implements provider.Frames.
func (f *frames) More() bool {
	here := f.from.Buffered()
	if here < lengthSize {
		return false
	}
	length, _ := f.from.Peek(lengthSize) // never more than is buffered
	return uint64(here) >= uint64(binary.BigEndian.Uint32(length))
}

// Next implements provider.Frames. The type of an event is that of the message, and its id says whether it is an event or an exception.
func (f *frames) Next() (sse.Event, error) {
	if f.n++; f.n > provider.MaxEvents {
		return sse.Event{}, fmt.Errorf("%w: more than %d", sse.ErrTooMany, provider.MaxEvents)
	}
	length, err := f.from.Peek(lengthSize)
	switch {
	case errors.Is(err, io.EOF) && len(length) > 0:
		return sse.Event{}, io.ErrUnexpectedEOF
	case err != nil:
		return sse.Event{}, err
	case binary.BigEndian.Uint32(length) > provider.MaxEvent:
		return sse.Event{}, fmt.Errorf("%w: more than %d bytes", sse.ErrTooLong, provider.MaxEvent)
	}
	m, err := f.decode.Decode(f.from, nil)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return sse.Event{}, err
	}
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	e := sse.Event{ID: header(eventstream.MessageTypeHeader), Data: m.Payload}
	switch e.ID {
	case eventstream.ExceptionMessageType:
		e.Type = header(eventstream.ExceptionTypeHeader)
	case eventstream.ErrorMessageType:
		e.Type = header(eventstream.ErrorCodeHeader)
		e.Data, err = json.Marshal(map[string]string{"message": header(eventstream.ErrorMessageHeader)})
	default:
		e.Type = header(eventstream.EventTypeHeader)
	}
	return e, err
}
