package property

import (
	"context"
	"sync"
	"time"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// watcher follows a session from its beginning, and comes back by its cursor when it was sent away.
type watcher struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	seen []*turnv1.Event
}

func (m *mesh) watch(session string) *watcher {
	w := &watcher{done: make(chan struct{})}
	var ctx context.Context
	ctx, w.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(w.done)
		cursor := ""
		for ctx.Err() == nil {
			cursor = m.follow(ctx, session, cursor, w.add)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	return w
}

func (w *watcher) add(e *turnv1.Event) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, e)
	return true
}

// stop ends the watch and gives what was seen.
func (w *watcher) stop() []*turnv1.Event {
	w.cancel()
	<-w.done
	return w.seen
}

// follow returns durable events after a cursor until the stream breaks or each has enough, and the cursor of the last one.
func (m *mesh) follow(ctx context.Context, session, cursor string, each func(*turnv1.Event) bool) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := m.user.turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{SessionId: session, After: cursor})
	if err != nil {
		return cursor
	}
	for {
		resp, err := stream.Recv()
		if err != nil {
			return cursor
		}
		cursor = resp.GetCursor()
		if e := resp.GetEvent(); e.GetDelta() == 0 && !transient(e) && !each(e) {
			return cursor
		}
	}
}

// transient tells of events that are not in the journal.
func transient(e *turnv1.Event) bool {
	return e.GetMessageDelta() != nil || e.GetReasoningDelta() != nil || e.GetToolCallArgumentsDelta() != nil || e.GetToolCallProgress() != nil
}

// read returns the events of a session after a cursor, up to a seq that is there.
func (m *mesh) read(session, cursor string, last uint32) []*turnv1.Event {
	var out []*turnv1.Event
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	m.follow(ctx, session, cursor, func(e *turnv1.Event) bool {
		out = append(out, e)
		return e.GetSeq() < last
	})
	return out
}

// await returns what was seen once that is all there is.
func (w *watcher) await(last uint32) []*turnv1.Event {
	for range 100 {
		w.mu.Lock()
		seen := w.seen
		w.mu.Unlock()
		if n := len(seen); n > 0 && seen[n-1].GetSeq() >= last {
			return seen
		}
		time.Sleep(100 * time.Millisecond)
	}
	return w.seen
}
