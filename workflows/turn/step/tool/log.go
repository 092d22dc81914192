package tool

import (
	"context"
	"sync"
	"time"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// eventLog collects a tool call's events. Those of a quick call are written with its outcome, which saves a round trip; those of a slow
// one while it runs.
type eventLog struct {
	write func([]*turnv1.Event) error

	mu      sync.Mutex
	pending []*turnv1.Event
	timer   *time.Timer
	fired   chan struct{} // closed when the timer's function has returned
	taken   bool
}

func (t *tool) newEventLog(ctx context.Context) *eventLog {
	return &eventLog{write: func(events []*turnv1.Event) error {
		_, err := t.Sessions.AppendEvents(ctx, &executionv1.AppendEventsRequest{
			TurnId: t.Turn.TurnID, Step: t.Ref.GetKey(), Fence: t.Lease.GetFence(), Events: events,
		})
		if err != nil {
			t.Log.DebugContext(ctx, "events stay for the commit", "step", t.Ref.GetKey(), "error", err)
		}
		return err
	}}
}

func (l *eventLog) add(e *turnv1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, e)
}

// writeAfter writes the events collected by then, unless they were taken before. What cannot be written stays for the commit.
func (l *eventLog) writeAfter(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil || l.taken {
		return
	}
	l.fired = make(chan struct{})
	l.timer = time.AfterFunc(d, func() {
		defer close(l.fired)
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.taken && len(l.pending) > 0 && l.write(l.pending) == nil {
			l.pending = nil
		}
	})
}

// take ends the log and returns what is not written yet. It waits for a write that is under way; none begins afterwards. It may be
// called again.
func (l *eventLog) take() []*turnv1.Event {
	l.mu.Lock()
	l.taken = true
	pending, timer := l.pending, l.timer
	l.timer = nil
	l.mu.Unlock()
	if timer != nil && !timer.Stop() {
		<-l.fired
	}
	return pending
}
