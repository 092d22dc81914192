package eventfeed

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
)

// ErrStopped means that the feed is stopping.
var ErrStopped = errors.New("event feed stopped")

const (
	// atOnce is how many events a follower reads at once.
	atOnce = 100
	// skipped is after how many events that are not selected a follower is sent its position.
	skipped = 1000
)

// Config holds how often followers read without a notification: while the bus is connected, and while it or another service is away.
type Config struct {
	Poll, PollAway time.Duration
}

// Feed lists and follows the merged events. It is safe for concurrent use.
type Feed struct {
	cfg     Config
	streams [streams]stream
	hub     *hub
	log     *slog.Logger
	stop    chan struct{}
	once    sync.Once
}

// New returns a feed of the events of this service, of the registry r and of policy p.
func New(cfg Config, log *eventlog.Log, r, p Source, b Bus, logger *slog.Logger) (*Feed, error) {
	if cfg.Poll <= 0 || cfg.PollAway <= 0 || log == nil || r == nil || p == nil || b == nil || logger == nil {
		return nil, errors.New("event feed needs poll intervals, a log, the registry, policy, a bus and a logger")
	}
	return &Feed{
		cfg: cfg, streams: [streams]stream{registry: remote("the registry", r), sessions: own(log), policy: remote("policy", p)},
		hub: newHub(b), log: logger, stop: make(chan struct{}),
	}, nil
}

// Run notifies followers until ctx ends.
func (f *Feed) Run(ctx context.Context) { f.hub.run(ctx) }

// Stop ends all followers with ErrStopped.
func (f *Feed) Stop() { f.once.Do(func() { close(f.stop) }) }

// Page is a page of a list.
type Page struct {
	// Events have cursors.
	Events []*eventv1.CloudEvent
	// Next is where the next page begins; nil after the last one.
	Next *Position
}

// List returns a page of events, the newest or the oldest first, beginning at from; nil = the first page. A position that is ahead of the
// events is ErrCursor.
func (f *Feed) List(ctx context.Context, sel Selection, from *Position, newest bool, limit int) (Page, error) {
	b, err := f.read(ctx, sel, from, newest, limit, false)
	if err != nil {
		return Page{}, err
	}
	out := Page{Events: b.events}
	if !b.done {
		out.Next = &b.at
	}
	return out, nil
}

// Start says where a follower starts: after a cursor, at a time, or, without both, now.
type Start struct {
	After string
	Since time.Time
	// Selected reads only the streams that the selection has events of. Its cursors are for the same selection.
	Selected bool
}

// Begin resolves where a follower starts. A cursor that is malformed or ahead of the events is ErrCursor.
func (f *Feed) Begin(ctx context.Context, sel Selection, start Start) (Position, error) {
	at := Position{}
	if start.After != "" {
		var err error
		if at, err = Parse(start.After); err != nil {
			return at, err
		}
	}
	for i, read := range f.streams {
		if _, selected := sel.query(i); start.Selected && !selected {
			continue
		}
		q := eventlog.Query{Tenant: sel.Tenant, After: at[i]}
		if start.After == "" {
			q.Since = start.Since
		}
		p, err := read(ctx, q, start.After != "")
		if start.After != "" {
			if err != nil && !(i != sessions && away(err)) { // it is checked when the service is back
				return at, err
			}
			continue
		}
		if err != nil {
			return at, err
		}
		if at[i] = p.first; start.Since.IsZero() {
			at[i] = p.head
		}
	}
	return at, nil
}

// Follow calls send with each selected event after at, and with nil to move the cursor only, first of all for at. It returns when ctx ends,
// when send fails, with ErrStopped, or with ErrCursor if at turns out to be ahead of the events.
func (f *Feed) Follow(ctx context.Context, sel Selection, at Position, send func(e *eventv1.CloudEvent, cursor string) error) error {
	sel.Since, sel.Until = time.Time{}, time.Time{}
	if err := send(nil, at.String()); err != nil {
		return err
	}
	sent := at
	for {
		changed := f.hub.changed(sel.Tenant)
		b, err := f.read(ctx, sel, &at, false, atOnce, true)
		if err != nil {
			return err
		}
		for _, e := range b.events {
			if err := send(e, e.GetCursor()); err != nil {
				return err
			}
		}
		at = b.at
		switch {
		case len(b.events) > 0:
			sent = at
		case at.beyond(sent) >= skipped:
			sent = at
			if err := send(nil, at.String()); err != nil {
				return err
			}
		}
		if !b.done {
			continue
		}
		if err := f.wait(ctx, changed, b.partial); err != nil {
			return err
		}
	}
}

// beyond returns how many events p is after q.
func (p Position) beyond(q Position) (n int64) {
	for i := range p {
		n += p[i] - q[i]
	}
	return n
}

// wait returns when there may be something new.
func (f *Feed) wait(ctx context.Context, changed <-chan struct{}, partial bool) error {
	poll := f.cfg.Poll
	if partial || !f.hub.bus.Connected() {
		poll = f.cfg.PollAway
	}
	timer := time.NewTimer(poll)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-f.stop:
		return ErrStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// away reports whether an error says that a service cannot be reached.
func away(err error) bool {
	f := fault.As(err)
	return f != nil && (f.Code == codes.Unavailable || f.Code == codes.DeadlineExceeded)
}
