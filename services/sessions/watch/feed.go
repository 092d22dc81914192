package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
)

// errFeedOver means that a feed ended before a watcher could be attached.
var errFeedOver = errors.New("feed is over")

const (
	// page is how many events one read of the journal asks for.
	page = 256
	// fillPause is the time between the first two looks for missing deltas; it doubles up to fillPauseMax.
	fillPause    = 100 * time.Millisecond
	fillPauseMax = 5 * time.Second
	// clockSkew is how much the clocks of database and bus may differ, firstSkew how much they nearly always do at most.
	clockSkew = 30 * time.Second
	firstSkew = 100 * time.Millisecond
	// maxPending bounds the deltas that wait for missing ones before them.
	maxPending = 4096
)

// feed follows one session and passes its events on in order: durable ones without a gap, deltas of the open message without a
// gap from its first on (what cannot be had is held back; the completed message replaces it anyway).
type feed struct {
	hub    *Hub
	key    feedKey
	events string // the subject of durable events
	cancel context.CancelFunc
	ready  chan struct{} // closed once the place in the journal is known, or the feed failed

	mu       sync.Mutex
	watchers map[*Watcher]struct{}
	waiting  int   // attach calls that wait for ready
	over     error // why the feed ended
	snap     Snapshot

	// Only the feed's goroutine uses these.
	active   bool
	openTurn string                   // the turn of the open message
	pending  map[uint32]*turnv1.Event // deltas ahead of a gap
	opened   time.Time                // when the open message, or its newest attempt, began
	filled   time.Time                // when missing deltas were last looked for
	fills    int                      // how often, for the open message and without success
	recheck  bool                     // deltas sent before the subscription may be kept only later: until one comes by it, they are looked for
}

func (f *feed) attach(ctx context.Context, want func(*turnv1.Event) bool) (*Watcher, Snapshot, error) {
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	select {
	case <-f.ready:
	case <-ctx.Done():
		f.remove(nil)
		return nil, Snapshot{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting--
	if f.over != nil {
		return nil, Snapshot{}, f.over
	}
	w := &Watcher{feed: f, want: want, limit: f.hub.cfg.Buffer, wake: make(chan struct{}, 1)}
	f.watchers[w] = struct{}{}
	snap := f.snap
	snap.Deltas = snap.Deltas[:len(snap.Deltas):len(snap.Deltas)] // the feed appends to its own
	return w, snap, nil
}

func (f *feed) detach(w *Watcher) { f.remove(w) }

// remove removes a watcher (nil: one that never got in); the last one ends the feed.
func (f *feed) remove(w *Watcher) {
	f.mu.Lock()
	if w == nil {
		f.waiting--
	}
	delete(f.watchers, w)
	last := len(f.watchers) == 0 && f.waiting == 0
	f.mu.Unlock()
	if last {
		f.endIfUnused()
	}
}

func (f *feed) endIfUnused() {
	f.mu.Lock()
	unused := len(f.watchers) == 0 && f.waiting == 0 && f.over == nil
	if unused {
		f.over = errFeedOver
	}
	f.mu.Unlock()
	if unused {
		f.hub.drop(f)
		f.cancel()
	}
}

// end stops the feed and tells its watchers why.
func (f *feed) end(why error) {
	f.mu.Lock()
	if f.over == nil {
		f.over = why
	}
	for w := range f.watchers {
		w.fail(why)
	}
	f.mu.Unlock()
	f.hub.drop(f)
	f.cancel()
}

// catchUp passes on what the journal has after the last event passed on.
func (f *feed) catchUp(ctx context.Context) error {
	for {
		rows, err := f.hub.store.Events(ctx, f.key.tenant, f.key.session, f.snap.Last, page)
		if err != nil {
			return err
		}
		for _, row := range rows {
			e := &turnv1.Event{}
			if err := proto.Unmarshal(row.Data, e); err != nil {
				return fmt.Errorf("event %d: %w", row.Seq, err)
			}
			f.durable(ctx, e)
		}
		if len(rows) < page {
			return nil
		}
	}
}

// durable passes on the next durable event.
func (f *feed) durable(ctx context.Context, e *turnv1.Event) {
	if done := e.GetMessageCompleted(); done != nil && f.snap.Open != 0 {
		for looks := 0; looks < 2 && int(done.GetDeltas()) > len(f.snap.Deltas); looks++ {
			f.fill(ctx) // its last deltas were overtaken
		}
	}
	switch e.GetData().(type) {
	case *turnv1.Event_TurnQueued, *turnv1.Event_TurnStarted:
		f.active = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snap.Last = e.GetSeq()
	if open := journal.Open(f.snap.Open, f.openTurn, e); open != f.snap.Open {
		f.openTurn = e.GetTurnId()
		f.snap.Open, f.snap.Deltas, f.pending, f.filled, f.fills = open, nil, nil, time.Time{}, 0
		f.opened, f.recheck = e.GetTime().AsTime(), false
	}
	f.tell(e)
}

// tell needs the lock.
func (f *feed) tell(e *turnv1.Event) {
	for w := range f.watchers {
		w.push(e)
	}
}
