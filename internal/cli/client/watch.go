package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/gateway/eventjson"
	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sse"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// maxSilence is how long a stream may be silent: the server sends a comment every 15 s, so after this it is gone.
const maxSilence = time.Minute

// maxEvent limits one event of a stream in bytes.
const maxEvent = 32 << 20

// pulse resets a timer whenever something is read.
type pulse struct {
	r     io.Reader
	timer *time.Timer
}

// Read implements io.Reader.
func (p *pulse) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.timer.Reset(maxSilence)
	return n, err
}

// Event is one event of a stream.
type Event struct {
	*turnv1.Event
	// JSON is the event as the server wrote it.
	JSON json.RawMessage
}

// TurnEvents returns the path of the events of a turn.
func TurnEvents(turn string) string { return "/v1/turns" + Path(turn, "events") }

// Watch describes a stream to follow.
type Watch struct {
	// Path is the stream's path, see TurnEvents. Query are its parameters.
	Path  string
	Query url.Values
	// After is the cursor to start after; empty means the beginning.
	After string
	// Patience is how long to try to reconnect after the stream broke; 0 means 2 minutes.
	Patience time.Duration
	// Backoff is the first pause before a reconnect, doubled up to 20 times it; 0 means 250 ms.
	Backoff time.Duration
	// Known means that the server answered a moment ago: then the first connection is retried too.
	Known bool
	// Notice is called once when the stream broke and is retried. Optional.
	Notice func(error)
}

// Watch calls handle with each event, once and in order, and returns nil at the stream's end. It reconnects with its cursor whenever the
// stream breaks. An error of handle ends it.
func (c *Client) Watch(ctx context.Context, w Watch, handle func(Event) error) error {
	return c.newWatch(w, func(s *watch) func(sse.Event) error {
		return func(e sse.Event) error {
			ev, err := eventjson.Decode(e.Data)
			if err != nil || !s.fresh(ev) {
				return err
			}
			s.progress = true
			return handle(Event{Event: ev, JSON: bytes.Clone(e.Data)})
		}
	}).run(ctx)
}

// WatchDomain is Watch for a stream of domain events, which has no end. handle gets their JSON.
func (c *Client) WatchDomain(ctx context.Context, w Watch, handle func(json.RawMessage) error) error {
	return c.newWatch(w, func(s *watch) func(sse.Event) error {
		return func(e sse.Event) error {
			s.progress = true
			return handle(bytes.Clone(e.Data))
		}
	}).run(ctx)
}

func (c *Client) newWatch(w Watch, handler func(*watch) func(sse.Event) error) *watch {
	if w.Patience == 0 {
		w.Patience = 2 * time.Minute
	}
	if w.Backoff == 0 {
		w.Backoff = 250 * time.Millisecond
	}
	s := &watch{Watch: w, client: c, cursor: w.After, connected: w.Known, places: map[string]*place{}}
	s.handle = handler(s)
	return s
}

// watch is the state of a Watch across its connections.
type watch struct {
	Watch
	client *Client
	handle func(sse.Event) error

	cursor string
	// places holds the position in each session.
	places map[string]*place
	// connected: a stream was opened once; progress: this connection delivered something.
	connected, progress bool
	over                bool
}

// place is the position in a session.
type place struct {
	// seq is the last durable event seen, deltas the last transient one for each event it refers to.
	seq    uint32
	deltas map[uint32]uint32
	// closed is the last message.completed: deltas that refer to earlier events are stale.
	closed uint32
}

// stopError is an error that a reconnect cannot fix.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }
func (e *stopError) Unwrap() error { return e.err }

func (w *watch) run(ctx context.Context) error {
	pauses := backoff.Policy{First: w.Backoff, Max: 20 * w.Backoff}.Start()
	since, told := time.Now(), false
	for {
		w.progress = false
		err := w.connect(ctx)
		var stop *stopError
		switch {
		case w.over:
			return nil
		case errors.As(err, &stop):
			return stop.err
		case ctx.Err() != nil:
			return ctx.Err()
		case !w.connected:
			return err
		}
		if w.progress {
			pauses.Reset()
			since, told = time.Now(), false
		}
		if time.Since(since) > w.Patience {
			return fmt.Errorf("the event stream broke and does not come back: %w", err)
		}
		if w.Notice != nil && !told {
			told = true
			w.Notice(err)
		}
		if err := pauses.Wait(ctx); err != nil {
			return err
		}
	}
}

// connect follows one connection until it ends. Its error is never nil unless the watch is over.
func (w *watch) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := w.client.request(ctx, request{path: w.Path, query: w.Query})
	if err != nil {
		return &stopError{err}
	}
	req.Header.Set("Accept", "text/event-stream")
	if w.cursor != "" {
		req.Header.Set("Last-Event-ID", w.cursor)
	}
	silent := time.AfterFunc(maxSilence, cancel)
	defer silent.Stop()
	answered := w.client.watch(ctx)
	resp, err := w.client.stream.Do(req)
	answered()
	if err != nil {
		return w.client.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // nothing is written
	switch {
	case resp.StatusCode == http.StatusNoContent:
		w.over = true
		return nil
	case resp.StatusCode != http.StatusOK:
		body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			return fmt.Errorf("read the answer of %s: %w", w.client.Server(), err)
		}
		return retryable(problem(resp, body))
	}
	w.connected = true
	return w.read(&pulse{r: resp.Body, timer: silent})
}

func (w *watch) read(body io.Reader) error {
	in := sse.NewReader(body, sse.Config{MaxEvent: maxEvent})
	for {
		e, err := in.Next()
		if id := in.LastID(); err != nil && id != "" {
			w.cursor = id // also one without an event
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // a regular end is a frame
		}
		if errors.Is(err, sse.ErrTooLong) {
			err = fmt.Errorf("an event is larger than %d bytes", maxEvent)
		}
		if err != nil {
			return fmt.Errorf("read events: %w", err)
		}
		if err := w.take(e); err != nil || w.over {
			return err
		}
	}
}

func (w *watch) take(e sse.Event) error {
	switch e.Type {
	case "end":
		w.over = true
		return nil
	case "error-status":
		var p fault.Problem
		if err := json.Unmarshal(e.Data, &p); err != nil {
			return fmt.Errorf("read the stream's error: %w", err)
		}
		broken := problemError(p)
		if broken.Code == codes.Unauthenticated {
			return broken // the token has expired: the next connection has a new one, or is refused for good
		}
		return retryable(broken)
	}
	if err := w.handle(e); err != nil {
		return &stopError{err}
	}
	if e.ID != "" {
		w.cursor = e.ID
	}
	return nil
}

// fresh reports whether an event was not seen yet, and remembers it.
func (w *watch) fresh(ev *turnv1.Event) bool {
	p := w.places[ev.GetSessionId()]
	if p == nil {
		p = &place{deltas: map[uint32]uint32{}}
		w.places[ev.GetSessionId()] = p
	}
	return p.fresh(ev)
}

func (p *place) fresh(ev *turnv1.Event) bool {
	switch {
	case ev.GetDelta() > 0:
		if ev.GetSeq() < p.closed || ev.GetDelta() <= p.deltas[ev.GetSeq()] {
			return false
		}
		p.deltas[ev.GetSeq()] = ev.GetDelta()
	case !transient(ev):
		if ev.GetSeq() <= p.seq {
			return false
		}
		p.seq = ev.GetSeq()
		if ev.GetMessageCompleted() != nil {
			p.closed = ev.GetSeq()
			clear(p.deltas) // one message is open at a time
		}
	}
	return true
}

// transient reports whether an event without its own number is outside the journal.
func transient(ev *turnv1.Event) bool { return ev.GetType() == "tool_call.progress" }

// retryable marks errors that a reconnect cannot fix.
func retryable(e *fault.Error) error {
	switch e.Code {
	case codes.Unavailable, codes.ResourceExhausted, codes.Internal, codes.DeadlineExceeded, codes.Aborted, codes.Canceled:
		return e
	}
	return &stopError{e}
}
