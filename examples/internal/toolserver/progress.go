package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const (
	// fullQueueTime is how long Progress waits before it tries a full queue again.
	fullQueueTime = 10 * time.Millisecond
	// settleLimit bounds the wait for notifications to be written: a client may read them on another stream.
	settleLimit = time.Second
)

// outbox counts the notifications of progress that are sent to a client and those that are written to it: mcp-go writes them and the result
// from different goroutines, so a result may overtake them, and then they are lost.
type outbox struct {
	mu            sync.Mutex
	sent, written int
	changed       chan struct{} // closed at the next write; nil without a reader that waits
}

type outboxKey struct{}

func (o *outbox) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, outboxKey{}, o)
}

func (o *outbox) send() {
	o.mu.Lock()
	o.sent++
	o.mu.Unlock()
}

func (o *outbox) wrote() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written++
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// pending returns nil if all that was sent is written, else a channel that is closed at the next write.
func (o *outbox) pending() <-chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sent <= o.written {
		return nil
	}
	if o.changed == nil {
		o.changed = make(chan struct{})
	}
	return o.changed
}

// response is the response to one HTTP request. mcp-go flushes it once for each notification.
type response struct {
	http.ResponseWriter
	outbox
}

// counted has next answer with responses that Progress and Settle know.
func counted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{ResponseWriter: w}
		next.ServeHTTP(res, r.WithContext(res.in(r.Context())))
	})
}

// Flush implements http.Flusher.
func (r *response) Flush() {
	http.NewResponseController(r.ResponseWriter).Flush() // as http.Flusher: the next write reports the error
	r.wrote()
}

// lines is what the server writes to a client over stdio. mcp-go writes each message at once.
type lines struct {
	io.Writer
	outbox
}

// Write implements io.Writer.
func (l *lines) Write(message []byte) (int, error) {
	n, err := l.Writer.Write(message)
	var head struct{ Method string }
	if json.Unmarshal(message, &head) == nil && head.Method == string(mcp.MethodNotificationProgress) {
		l.wrote()
	}
	return n, err
}

// Progress sends a notification of progress to the caller. If the connection's queue is full it waits for room.
func Progress(ctx context.Context, params map[string]any) error {
	for {
		out, counted := ctx.Value(outboxKey{}).(*outbox)
		if counted {
			out.send()
		}
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, string(mcp.MethodNotificationProgress), params)
		if err == nil {
			return nil
		}
		if counted {
			out.wrote() // not sent after all
		}
		if !errors.Is(err, server.ErrNotificationChannelBlocked) {
			return err
		}
		if err := Pause(ctx, fullQueueTime); err != nil {
			return fmt.Errorf("report progress: %w", err)
		}
	}
}

// Settle waits until the progress that was sent is written.
func Settle(ctx context.Context) error {
	out, ok := ctx.Value(outboxKey{}).(*outbox)
	if !ok {
		return nil
	}
	limit := time.NewTimer(settleLimit)
	defer limit.Stop()
	for changed := out.pending(); changed != nil; changed = out.pending() {
		select {
		case <-changed:
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
