package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/bus"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// errFeedOver means that a feed ended before a watcher could be attached.
var errFeedOver = errors.New("feed is over")

const (
	// page is how many events one read of the journal asks for.
	page = 256
	// fillPause is the time between the first two looks for missing deltas; it doubles up to fillPauseMax.
	fillPause    = 100 * time.Millisecond
	fillPauseMax = 5 * time.Second
	// clockSkew is how much the clocks of database and bus may differ.
	clockSkew = 30 * time.Second
	// maxPending bounds the deltas that wait for missing ones before them.
	maxPending = 4096
)

// feed follows one session and passes its events on in order: durable ones without a gap, deltas of the open message without a
// gap from its first on (what cannot be had is held back; the completed message replaces it anyway).
type feed struct {
	hub    *Hub
	key    feedKey
	cancel context.CancelFunc
	ready  chan struct{} // closed once the place in the journal is known, or the feed failed

	mu       sync.Mutex
	watchers map[*Watcher]struct{}
	waiting  int   // attach calls that wait for ready
	over     error // why the feed ended
	snap     Snapshot

	// Only the feed's goroutine uses these.
	active  bool
	pending map[uint32]*turnv1.Event // deltas ahead of a gap
	opened  time.Time                // when the open message, or its newest attempt, began
	filled  time.Time                // when missing deltas were last looked for
	fills   int                      // how often, for the open message and without success
}

func (f *feed) attach(ctx context.Context, want func(*turnv1.Event) bool) (*Watcher, Snapshot, error) {
	f.mu.Lock()
	f.waiting++
	f.mu.Unlock()
	select {
	case <-f.ready:
	case <-ctx.Done():
		f.leave(nil)
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

func (f *feed) detach(w *Watcher) { f.leave(w) }

// leave removes a watcher (nil: one that never got in); the last one ends the feed.
func (f *feed) leave(w *Watcher) {
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

// run follows the session until the feed is over. Each round is one subscription; a round that ends has lost messages, so the next one
// reads the journal first.
func (f *feed) run(ctx context.Context) {
	defer f.cancel()
	known := false
	for ctx.Err() == nil {
		sub := f.subscribe(ctx)
		if !known {
			if err := f.load(ctx); err != nil {
				f.end(err)
				close(f.ready)
				return
			}
			known = true
		} else if err := f.catchUp(ctx); err != nil {
			f.trouble(ctx, err)
		}
		f.fill(ctx)
		select {
		case <-f.ready:
		default:
			close(f.ready)
		}
		f.follow(ctx, sub)
	}
	select {
	case <-f.ready:
	default:
		close(f.ready)
	}
}

// subscribe returns nil while the bus is away.
func (f *feed) subscribe(ctx context.Context) *bus.Subscription {
	sub, err := f.hub.bus.Subscribe(contract.SessionSubjects(f.key.tenant, f.key.session), f.hub.cfg.BusBuffer)
	if err != nil {
		f.hub.log.DebugContext(ctx, "watching without the bus", "session_id", f.key.session, "error", err)
		return nil
	}
	if f.hub.bus.Connected() {
		if err := f.hub.bus.Flush(ctx); err != nil {
			f.hub.log.DebugContext(ctx, "watching without the bus for now", "session_id", f.key.session, "error", err)
		}
	}
	return sub
}

// load finds out where the session stands.
func (f *feed) load(ctx context.Context) error {
	ses, err := f.hub.store.Session(ctx, f.key.tenant, f.key.session)
	if err != nil {
		if ctx.Err() != nil {
			return errFeedOver
		}
		return fmt.Errorf("watch session %s: %w", f.key.session, err)
	}
	if ses.OpenSeq != 0 {
		e, err := f.hub.store.Event(ctx, f.key.tenant, f.key.session, ses.OpenSeq)
		if err != nil {
			return fmt.Errorf("watch session %s: %w", f.key.session, err)
		}
		f.opened = time.UnixMicro(e.TimeUs)
	}
	f.mu.Lock()
	f.snap = Snapshot{Last: ses.LastSeq, Open: ses.OpenSeq}
	f.mu.Unlock()
	f.active = ses.ActiveTurnID != ""
	return nil
}

// follow passes on what comes until the subscription ends. Without one it polls for a while.
func (f *feed) follow(ctx context.Context, sub *bus.Subscription) {
	var live <-chan bus.Msg
	if sub != nil {
		defer sub.Close()
		live = sub.C()
	}
	timer := time.NewTimer(f.pause(sub))
	defer timer.Stop()
	for {
		select {
		case m, ok := <-live:
			if !ok {
				f.hub.log.DebugContext(ctx, "feed subscribes anew", "session_id", f.key.session, "error", sub.Err())
				if errors.Is(sub.Err(), bus.ErrClosed) {
					live = nil // the bus is closed for good: poll
					sub = nil
					timer.Reset(f.pause(sub))
					continue
				}
				return
			}
			f.receive(ctx, m.Data)
			if len(f.pending) > 0 {
				timer.Reset(f.fillPause())
			}
		case <-timer.C:
			if err := f.poll(ctx); err != nil {
				f.trouble(ctx, err)
			}
			timer.Reset(f.pause(sub))
		case <-ctx.Done():
			return
		}
	}
}

// pause is how long to wait for the bus before looking into the journal.
func (f *feed) pause(sub *bus.Subscription) time.Duration {
	switch {
	case sub == nil || !f.hub.bus.Connected():
		return f.hub.cfg.PollAway
	case len(f.pending) > 0:
		return f.fillPause()
	case f.active:
		return f.hub.cfg.PollActive
	}
	return f.hub.cfg.PollIdle
}

func (f *feed) poll(ctx context.Context) error {
	if len(f.pending) > 0 {
		f.fill(ctx)
	}
	ses, err := f.hub.store.Session(ctx, f.key.tenant, f.key.session)
	if err != nil {
		return err
	}
	f.active = ses.ActiveTurnID != ""
	if ses.LastSeq > f.snap.Last {
		return f.catchUp(ctx)
	}
	return nil
}

// trouble reports that the journal cannot be read now. The next poll tries again; a session that is gone ends the feed.
func (f *feed) trouble(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	f.hub.log.WarnContext(ctx, "journal cannot be read", "session_id", f.key.session, "error", err)
	if isGone(err) {
		f.end(err)
	}
}

func (f *feed) receive(ctx context.Context, data []byte) {
	e := &turnv1.Event{}
	if err := proto.Unmarshal(data, e); err != nil {
		f.hub.log.WarnContext(ctx, "message on the bus is no event", "session_id", f.key.session, "error", err)
		return
	}
	if e.GetSeq() > f.snap.Last && (transient(e) || e.GetSeq() != f.snap.Last+1 || e.GetData() == nil) {
		// It came ahead of others, or only its envelope came.
		if err := f.catchUp(ctx); err != nil {
			f.trouble(ctx, err)
			return
		}
	}
	switch {
	case transient(e):
		f.delta(ctx, e)
	case e.GetSeq() == f.snap.Last+1 && e.GetData() != nil:
		f.durable(ctx, e)
	}
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
	if done := e.GetMessageCompleted(); done != nil && f.snap.Open != 0 && int(done.GetDeltas()) > len(f.snap.Deltas) {
		f.fill(ctx) // its last deltas were overtaken
	}
	switch e.GetData().(type) {
	case *turnv1.Event_TurnQueued, *turnv1.Event_TurnStarted:
		f.active = true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.snap.Last = e.GetSeq()
	if open := journal.Open(f.snap.Open, e); open != f.snap.Open {
		f.snap.Open, f.snap.Deltas, f.pending, f.filled, f.fills = open, nil, nil, time.Time{}, 0
		f.opened = e.GetTime().AsTime()
	}
	f.tell(e)
}

// tell needs the lock.
func (f *feed) tell(e *turnv1.Event) {
	for w := range f.watchers {
		w.push(e)
	}
}
