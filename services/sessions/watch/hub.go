// Package watch tells watchers what happens in sessions. All watchers of a session share one feed: one subscription to the bus,
// one decoding, one place that mends gaps from the journal. The bus makes it fast; the journal makes it whole.
package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// reader is the part of the store that feeds read.
type reader interface {
	// Session reads one; store.ErrNotFound when there is none.
	Session(ctx context.Context, tenant, id string) (store.Session, error)
	// Event reads one event; store.ErrNotFound when there is none.
	Event(ctx context.Context, tenant, session string, seq uint32) (store.Event, error)
	// Events reads the journal in order after a seq.
	Events(ctx context.Context, tenant, session string, after uint32, limit int) ([]store.Event, error)
}

// messages is the part of the bus that feeds use.
type messages interface {
	Subscribe(subject string, buf int) (*bus.Subscription, error)
	Flush(ctx context.Context) error
	KeptSince(ctx context.Context, subject string, since time.Time) ([]bus.KeptMsg, error)
	Connected() bool
	Spread() time.Duration
}

// Config sizes a hub. All fields are required.
type Config struct {
	// Buffer is how many events may wait for one watcher.
	Buffer int
	// BusBuffer is how many messages of the bus may wait for a session's feed.
	BusBuffer int
	// PollActive, PollIdle and PollAway say how often a feed looks into the journal by itself: while a turn is active, while none is,
	// and while the bus is away.
	PollActive, PollIdle, PollAway time.Duration
}

// Hub has the feeds of the sessions that somebody watches.
type Hub struct {
	cfg   Config
	store reader
	bus   messages
	log   *slog.Logger

	mu      sync.Mutex
	feeds   map[feedKey]*feed
	stopped bool
	running sync.WaitGroup
}

type feedKey struct{ tenant, session string }

// New makes a hub. Stop ends it.
func New(cfg Config, s reader, b messages, log *slog.Logger) (*Hub, error) {
	if cfg.Buffer <= 0 || cfg.BusBuffer <= 0 || cfg.PollActive <= 0 || cfg.PollIdle <= 0 || cfg.PollAway <= 0 {
		return nil, errors.New("watch hub needs buffers and poll intervals above 0")
	}
	return &Hub{cfg: cfg, store: s, bus: b, log: log, feeds: map[feedKey]*feed{}}, nil
}

// Snapshot is where a session stood when a watcher was attached: the watcher gets everything after it.
type Snapshot struct {
	// Last is the seq of the newest durable event.
	Last uint32
	// Open is the seq that the open message's deltas hang on, 0 when none is open.
	Open uint32
	// Deltas are those of the open message, from the first on without a gap.
	Deltas []*turnv1.Event
}

// Attach begins to watch a session. want chooses events (nil = all); it is called for each event and must be quick. An error says
// that the session is not there (store.ErrNotFound), that the database cannot be read, or ErrStopped.
func (h *Hub) Attach(ctx context.Context, tenant, session string, want func(*turnv1.Event) bool) (*Watcher, Snapshot, error) {
	for {
		f, err := h.feed(feedKey{tenant, session})
		if err != nil {
			return nil, Snapshot{}, err
		}
		w, snap, err := f.attach(ctx, want)
		if errors.Is(err, errFeedOver) {
			continue // its last watcher left just now: take a new one
		}
		return w, snap, err
	}
}

// Feeds returns how many sessions are watched.
func (h *Hub) Feeds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.feeds)
}

// Stop ends all feeds and waits for them. Watchers get ErrStopped.
func (h *Hub) Stop() {
	h.mu.Lock()
	h.stopped = true
	feeds := make([]*feed, 0, len(h.feeds))
	for _, f := range h.feeds {
		feeds = append(feeds, f)
	}
	h.mu.Unlock()
	for _, f := range feeds {
		f.end(ErrStopped)
	}
	h.running.Wait()
}

// feed finds or starts the feed of a session and reserves a place in it.
func (h *Hub) feed(key feedKey) (*feed, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, ErrStopped
	}
	f, ok := h.feeds[key]
	if ok {
		return f, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	f = &feed{
		hub: h, key: key, events: contract.EventSubject(key.tenant, key.session), cancel: cancel, ready: make(chan struct{}),
		watchers: map[*Watcher]struct{}{},
	}
	h.feeds[key] = f
	h.running.Go(func() { f.run(ctx) })
	return f, nil
}

// drop forgets a feed, if it is still the one of its session.
func (h *Hub) drop(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.feeds[f.key] == f {
		delete(h.feeds, f.key)
	}
}
