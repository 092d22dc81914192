package watch

import (
	"context"
	"errors"
	"sync"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

var (
	// ErrSlow means that a watcher did not take its events fast enough and was cut off.
	ErrSlow = errors.New("reader too slow")
	// ErrStopped means that the hub is stopping.
	ErrStopped = errors.New("watch hub stopped")
)

// Watcher gets the events of one session from the moment it was attached on. An idle one holds no buffer.
type Watcher struct {
	feed  *feed
	want  func(*turnv1.Event) bool // nil = all
	limit int
	wake  chan struct{}

	mu    sync.Mutex
	queue []*turnv1.Event
	err   error
}

// push never blocks: a watcher that has too much waiting is cut off.
func (w *Watcher) push(e *turnv1.Event) {
	if w.want != nil && !w.want(e) {
		return
	}
	w.mu.Lock()
	switch {
	case w.err != nil:
	case len(w.queue) >= w.limit:
		w.err, w.queue = ErrSlow, nil
	default:
		w.queue = append(w.queue, e)
	}
	w.mu.Unlock()
	w.signal()
}

func (w *Watcher) fail(err error) {
	w.mu.Lock()
	if w.err == nil {
		w.err = err
	}
	w.mu.Unlock()
	w.signal()
}

func (w *Watcher) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next waits for events and returns all that are waiting. After ErrSlow the watcher gets nothing more; what was waiting is gone.
// Other errors: ErrStopped, or the context's.
func (w *Watcher) Next(ctx context.Context) ([]*turnv1.Event, error) {
	for {
		w.mu.Lock()
		events, err := w.queue, w.err
		w.queue = nil
		w.mu.Unlock()
		if len(events) > 0 {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-w.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Err reports whether the watcher was cut off.
func (w *Watcher) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close detaches the watcher. It must be called once, when no Next is under way.
func (w *Watcher) Close() { w.feed.detach(w) }
