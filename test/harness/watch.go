package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/sse"
)

// Event is one SSE frame of a turn or session.
type Event struct {
	// ID is the frame's id, the cursor after it.
	ID string
	// Seq is 0 for frames that are no event of the journal or of a message.
	Seq    int    `json:"seq"`
	Delta  int    `json:"delta"`
	Type   string `json:"type"`
	TurnID string `json:"turn_id"`
	// AgentPath are the agents from the outermost to the one that speaks.
	AgentPath []string `json:"agent_path"`
	Step      string   `json:"step"`
	Attempt   int      `json:"attempt"`
	TraceID   string   `json:"trace_id"`
	Data      JSON     `json:"data"`
}

// Durable reports whether the event is in the journal.
func (e Event) Durable() bool {
	switch e.Type {
	case "message.delta", "reasoning.delta", "tool_call.arguments.delta", "tool_call.progress":
		return false
	}
	return true
}

// Durables are those of the events that are in the journal.
func Durables(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if e.Durable() {
			out = append(out, e)
		}
	}
	return out
}

// Watcher follows a stream, reconnects with its cursor whenever the stream breaks, and keeps all events.
type Watcher struct {
	c      *Client
	path   string
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	changed chan struct{}
	events  []Event
	cursor  string
	// Connects counts the connections made.
	connects int
	// refusal is the status and the beginning of the newest answer that was no stream.
	refusal string
	cut     context.CancelFunc
	over    chan struct{} // closed when the connection that cut breaks is gone
}

// Watch follows a path such as "/v1/turns/trn_1/events" until its end or the test's.
func (c *Client) Watch(path string) *Watcher {
	ctx, cancel := context.WithCancel(c.t.Context())
	w := &Watcher{c: c, path: path, cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
	go w.run(ctx)
	c.t.Cleanup(func() { cancel(); <-w.done })
	return w
}

func (w *Watcher) run(ctx context.Context) {
	defer close(w.done)
	for ctx.Err() == nil {
		if over := w.connect(ctx); over {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect follows one connection; true means that the stream is over for good.
func (w *Watcher) connect(ctx context.Context) bool {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	over := make(chan struct{})
	defer close(over)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.c.Base+w.path, nil)
	if err != nil {
		return true
	}
	w.mu.Lock()
	if w.cursor != "" {
		req.Header.Set("Last-Event-ID", w.cursor)
	}
	w.connects++
	w.cut, w.over = cut, over
	w.mu.Unlock()
	resp, err := w.c.HTTP.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNoContent {
		return true
	}
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1000))
		w.mu.Lock()
		w.refusal = resp.Status + " " + string(text)
		w.mu.Unlock()
		return false
	}
	return w.read(resp.Body)
}

func (w *Watcher) read(r io.Reader) (over bool) {
	in := sse.NewReader(r, sse.Config{MaxEvent: 32 << 20})
	for {
		e, err := in.Next()
		switch {
		case err != nil:
			return false // an unfinished frame does not count
		case e.Type == "end":
			return true
		case e.Type != "error-status":
			w.add(e.ID, e.Data)
		}
	}
}

func (w *Watcher) add(id string, data []byte) {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		e.Type = "unreadable: " + err.Error()
	}
	e.ID = id
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	if id != "" {
		w.cursor = id
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// Cut breaks the present connection and waits until it delivers nothing more; the watcher reconnects with its cursor.
func (w *Watcher) Cut() {
	w.mu.Lock()
	cut, over := w.cut, w.over
	w.mu.Unlock()
	if cut != nil {
		cut()
		<-over
	}
}

// Events returns the events received so far.
func (w *Watcher) Events() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Event(nil), w.events...)
}

// Connects counts the connections made so far.
func (w *Watcher) Connects() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.connects
}

// Refusal returns the status and the beginning of the newest answer that was no stream, empty if there was none.
func (w *Watcher) Refusal() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.refusal
}

// Until waits for a matching event, and returns it.
func (w *Watcher) Until(what string, fits func(Event) bool) Event {
	w.c.t.Helper()
	deadline := time.After(90 * time.Second)
	for seen := 0; ; {
		w.mu.Lock()
		events, changed := w.events, w.changed
		w.mu.Unlock()
		for ; seen < len(events); seen++ {
			if fits(events[seen]) {
				return events[seen]
			}
		}
		select {
		case <-changed:
		case <-w.done:
			w.c.t.Fatalf("the stream ended without %s; it had:\n%s", what, w.Summary())
		case <-deadline:
			w.c.t.Fatalf("no %s came; there were:\n%s", what, w.Summary())
		}
	}
}

// UntilType waits for an event of a type.
func (w *Watcher) UntilType(typ string) Event {
	w.c.t.Helper()
	return w.Until(typ, func(e Event) bool { return e.Type == typ })
}

// Done is closed when the stream has ended by itself.
func (w *Watcher) Done() <-chan struct{} { return w.done }

// End waits for the stream's own end.
func (w *Watcher) End() []Event {
	w.c.t.Helper()
	select {
	case <-w.done:
	case <-time.After(90 * time.Second):
		w.c.t.Fatalf("the stream does not end; there were:\n%s", w.Summary())
	}
	return w.Events()
}

// Summary lists ids and types, for failures.
func (w *Watcher) Summary() string {
	var b strings.Builder
	for _, e := range w.Events() {
		fmt.Fprintf(&b, "%s %s step=%s attempt=%d delta=%d\n", e.ID, e.Type, e.Step, e.Attempt, e.Delta)
	}
	return b.String()
}
