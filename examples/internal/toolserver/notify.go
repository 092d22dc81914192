package toolserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	// settleTime is how long Settle waits where it cannot see what is written: mcp-go writes notifications and the result from different
	// goroutines, and one sent right before the result can be lost.
	settleTime = 10 * time.Millisecond
	// settleLimit bounds the wait for notifications to be written: a client may read them on another stream.
	settleLimit = time.Second
)

// stream is the response to one HTTP request. It counts what is sent and what is written: mcp-go flushes once for each notification.
type stream struct {
	http.ResponseWriter

	mu            sync.Mutex
	sent, written int
	progress      chan struct{} // has a value after each flush
}

type streamKey struct{}

// counted has next answer on a stream that Notify and Settle know.
func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &stream{ResponseWriter: w, progress: make(chan struct{}, 1)}
		next.ServeHTTP(s, r.WithContext(context.WithValue(r.Context(), streamKey{}, s)))
	})
}

// Flush implements http.Flusher.
func (s *stream) Flush() {
	http.NewResponseController(s.ResponseWriter).Flush() // as http.Flusher: the next write reports the error
	s.mu.Lock()
	s.written++
	s.mu.Unlock()
	select {
	case s.progress <- struct{}{}:
	default:
	}
}

func (s *stream) pending() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent > s.written
}

// Notify sends a notification to the caller. If the connection's queue is full it waits for room.
func Notify(ctx context.Context, method string, params map[string]any) error {
	for {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, method, params)
		if !errors.Is(err, server.ErrNotificationChannelBlocked) {
			if s, ok := ctx.Value(streamKey{}).(*stream); ok && err == nil {
				s.mu.Lock()
				s.sent++
				s.mu.Unlock()
			}
			return err
		}
		if err := Pause(ctx, settleTime); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
}

// Settle waits until sent notifications are written.
func Settle(ctx context.Context) error {
	s, ok := ctx.Value(streamKey{}).(*stream)
	if !ok || !s.pending() {
		return Pause(ctx, settleTime)
	}
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	for s.pending() {
		select {
		case <-s.progress:
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Pause waits for d or for the end of ctx, whichever is first; the latter is an error.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
