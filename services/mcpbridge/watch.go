package mcpbridge

import (
	"maps"
	"slices"
	"sync"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// Changes of a pooled server.
const (
	connected    = mcpbridgev1.ServerChange_SERVER_CHANGE_CONNECTED
	lost         = mcpbridgev1.ServerChange_SERVER_CHANGE_LOST
	toolsChanged = mcpbridgev1.ServerChange_SERVER_CHANGE_TOOLS_CHANGED
)

// event is a change of a pooled server.
type event struct {
	server, detail string
	change         mcpbridgev1.ServerChange
}

// hub distributes events. A watcher that falls behind is disconnected, never waited for.
type hub struct {
	mu       sync.Mutex
	state    map[string]event // the last connected or lost event of each pooled server
	watchers map[*watcher]struct{}
	closed   bool
}

// watcher is one subscription.
type watcher struct {
	events chan event // closed when it fell behind or the hub ended
	behind bool
}

const watchBuffer = 256

func newHub() *hub { return &hub{state: map[string]event{}, watchers: map[*watcher]struct{}{}} }

// publish sends an event to all watchers.
func (h *hub) publish(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if e.change != toolsChanged {
		h.state[e.server] = e
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

// forget removes a server from the present state: it is no longer pooled.
func (h *hub) forget(server string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.state, server)
}

// watch subscribes, and returns the present state; no event in between is lost.
func (h *hub) watch() ([]event, *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &watcher{events: make(chan event, watchBuffer)}
	if h.closed {
		close(w.events)
		return nil, w
	}
	h.watchers[w] = struct{}{}
	state := make([]event, 0, len(h.state))
	for _, id := range slices.Sorted(maps.Keys(h.state)) {
		state = append(state, h.state[id])
	}
	return state, w
}

// leave ends a subscription; it reports whether the watcher was disconnected because it fell behind.
func (h *hub) leave(w *watcher) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watchers[w]; ok {
		delete(h.watchers, w)
		close(w.events)
	}
	return w.behind
}

// close ends all subscriptions.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		close(w.events)
		delete(h.watchers, w)
	}
}
