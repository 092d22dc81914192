// Package watch distributes what changes at tool servers to those who watch it. A slow watcher is never waited for.
package watch

import (
	"maps"
	"slices"
	"sync"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// Changes of a server.
const (
	Connected    = mcpbridgev1.ServerChange_SERVER_CHANGE_CONNECTED
	Lost         = mcpbridgev1.ServerChange_SERVER_CHANGE_LOST
	ToolsChanged = mcpbridgev1.ServerChange_SERVER_CHANGE_TOOLS_CHANGED
)

// Event is a change of a server.
type Event struct {
	// Server is its id; Detail says why it was lost.
	Server, Detail string
	// Change is one of the changes above.
	Change mcpbridgev1.ServerChange
}

// Hub distributes events. A watcher that falls behind is disconnected.
type Hub struct {
	mu       sync.Mutex
	state    map[string]Event // the last connected or lost event of each server
	watchers map[*Watcher]struct{}
	closed   bool
}

// Watcher is one subscription.
type Watcher struct {
	events chan Event
	behind bool
}

// Events is closed when the watcher fell behind or the hub ended.
func (w *Watcher) Events() <-chan Event { return w.events }

// buffer is how many events or changes wait for a slow watcher.
const buffer = 256

// NewHub returns a hub without servers.
func NewHub() *Hub { return &Hub{state: map[string]Event{}, watchers: map[*Watcher]struct{}{}} }

// Publish sends an event to all watchers.
func (h *Hub) Publish(e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if e.Change != ToolsChanged {
		h.state[e.Server] = e
	}
	for w := range h.watchers {
		select {
		case w.events <- e:
		default:
			w.behind = true
			close(w.events)
			delete(h.watchers, w)
		}
	}
}

// Forget removes a server from the present state.
func (h *Hub) Forget(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.state, server)
}

// Watch subscribes, and returns the present state; no event in between is lost.
func (h *Hub) Watch() ([]Event, *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Watcher{events: make(chan Event, buffer)}
	if h.closed {
		close(w.events)
		return nil, w
	}
	h.watchers[w] = struct{}{}
	state := make([]Event, 0, len(h.state))
	for _, id := range slices.Sorted(maps.Keys(h.state)) {
		state = append(state, h.state[id])
	}
	return state, w
}

// Leave ends a subscription; it reports whether the watcher was disconnected because it fell behind.
func (h *Hub) Leave(w *Watcher) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watchers[w]; ok {
		delete(h.watchers, w)
		close(w.events)
	}
	return w.behind
}

// Close ends all subscriptions.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		close(w.events)
		delete(h.watchers, w)
	}
}
