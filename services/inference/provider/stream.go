package provider

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sse"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// MaxCalls is the maximum number of tool calls in one answer.
const MaxCalls = 128

// Limits of an answer.
const (
	// MaxEvent is the maximum size of an event in bytes, and MaxEvents the maximum number of events.
	MaxEvent  = 8 << 20
	MaxEvents = 180_000
)

// answers limits the events of an answer. Comments count as keep-alives.
var answers = sse.Config{MaxEvent: MaxEvent, MaxEvents: MaxEvents, MaxLines: 1_000_000, Comments: true, Unfinished: true}

// Frames are the events of an answer.
type Frames interface {
	// More reports whether the end of the next event is already buffered, so that Next will not block.
	More() bool
	// Next returns the next event, whose data are valid until the next call; io.EOF at the end. A limit is sse.ErrTooLong or sse.ErrTooMany.
	Next() (sse.Event, error)
}

// Framing is how an API separates the events of its answers.
type Framing struct {
	// Media is the media type of the answers.
	Media string
	// Open returns the events of an answer.
	Open func(r io.Reader) Frames
}

// Framed is a Reader of answers that are no server-sent events.
type Framed interface {
	// Framing returns the framing of the answer. It is constant.
	Framing() Framing
}

// framingOf returns the framing of what a reader reads.
func framingOf(r Reader) Framing {
	if f, ok := r.(Framed); ok {
		return f.Framing()
	}
	return Framing{Media: "text/event-stream", Open: func(r io.Reader) Frames { return sse.NewReader(r, answers) }}
}

// maxErrorBody limits what is read of a body that is not a stream.
const maxErrorBody = 64 << 10

// events has r read a response's events, including comments (events without data). It closes the body. It returns r's error unchanged;
// io.EOF from r ends the reading without an error. The batch is flushed before events waits for more, and at the end.
func (id Identity) events(ctx context.Context, resp *http.Response, model string, batch *Batch, r Reader) (err error) {
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	defer func() { err = cmp.Or(err, batch.Flush()) }()
	framing := framingOf(r)
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != framing.Media && media != "" {
		body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		if f, ok := r.Failure(body); ok && err == nil {
			return id.Fault(model, f)
		}
		return Broken("%s answered %s instead of a stream of events", id.Name, media).
			Hint("Check that base_url is the address of the API (most end in /v1), and try again.")
	}
	events := framing.Open(resp.Body)
	for {
		if !events.More() {
			if err := batch.Flush(); err != nil {
				return err
			}
		}
		e, err := events.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, sse.ErrTooLong), errors.Is(err, sse.ErrTooMany):
			return Excessive("the answer of %s cannot be read: %v", id.Name, err)
		case err != nil:
			return id.Cut(ctx, err)
		case !utf8.Valid(e.Data):
			return Broken("the answer of %s cannot be read: event is not valid UTF-8", id.Name)
		}
		if tooManyValues(e.Data) {
			return Excessive("the answer of %s has an event of more than %d values", id.Name, maxValues)
		}
		if err := r.Event(e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// maxValues limits the values of one event: an empty object of two bytes takes up to 150 bytes once it is parsed.
const maxValues = 100_000

// tooManyValues skips events that are too short to have too many.
func tooManyValues(data []byte) bool {
	if len(data) <= maxValues {
		return false
	}
	values, _ := canon.Measure(data)
	return values > maxValues
}

// Cut returns the error for a connection that was lost in the middle of an answer.
func (id Identity) Cut(ctx context.Context, err error) error {
	lost := id.Transport(ctx, err)
	if fault.Is(lost, faultv1.Reason_REASON_MODEL_UNAVAILABLE) {
		return Broken("%s hung up in the middle of its answer", id.Name).Cause(err)
	}
	return lost
}
