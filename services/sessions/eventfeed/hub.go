package eventfeed

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Bus is the part of the bus that notifies followers.
type Bus interface {
	Subscribe(subject string, buf int) (*bus.Subscription, error)
	Flush(ctx context.Context) error
	Connected() bool
}

// waiting is how many messages of the bus may wait. When there are more, all followers are notified.
const waiting = 256

// hub notifies the followers of a tenant that there is a new event.
type hub struct {
	bus Bus

	mu      sync.Mutex
	tenants map[string]chan struct{} // by the common part of their subjects
}

func newHub(b Bus) *hub { return &hub{bus: b, tenants: map[string]chan struct{}{}} }

// changed returns a channel that is closed when there may be a new event of the tenant.
func (h *hub) changed(tenant string) <-chan struct{} {
	key := common(contract.DomainEventSubject(tenant, "x"))
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.tenants[key]
	if !ok {
		c = make(chan struct{})
		h.tenants[key] = c
	}
	return c
}

// common returns the part of a subject that all roles have in common.
func common(subject string) string { return subject[:strings.LastIndexByte(subject, '.')+1] }

func (h *hub) notify(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.tenants[key]; ok {
		close(c)
		delete(h.tenants, key)
	}
}

func (h *hub) notifyAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, c := range h.tenants {
		close(c)
		delete(h.tenants, key)
	}
}

// run passes on what is published until ctx ends.
func (h *hub) run(ctx context.Context) {
	pauses := backoff.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second}.Start()
	for ctx.Err() == nil {
		sub, err := h.bus.Subscribe(contract.AllDomainEvents, waiting)
		if err != nil {
			_ = pauses.Wait(ctx) // ended by ctx only
			continue
		}
		pauses.Reset()
		_ = h.bus.Flush(ctx) // a bus that is away: followers poll
		h.notifyAll()
		h.pass(ctx, sub)
		sub.Close()
	}
}

func (h *hub) pass(ctx context.Context, sub *bus.Subscription) {
	for {
		select {
		case m, ok := <-sub.C():
			if !ok {
				return
			}
			h.notify(common(m.Subject))
		case <-ctx.Done():
			return
		}
	}
}
