package mcpbridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/backoff"
)

// progress is the progress of a call.
type progress struct {
	done, total float64
	message     string
}

// routes delivers progress to its call by token: servers send it on any of a session's streams.
type routes struct {
	mu sync.Mutex
	to map[string]chan progress
}

// progressBuffer is how many progress messages wait for a slow caller; the oldest is dropped first.
const progressBuffer = 256

func (r *routes) init() { r.to = map[string]chan progress{} }

func (r *routes) add(token string) <-chan progress {
	ch := make(chan progress, progressBuffer)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to[token] = ch
	return ch
}

func (r *routes) remove(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.to, token)
}

func (r *routes) deliver(token string, p progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ch, ok := r.to[token]
	if !ok {
		return
	}
	for {
		select {
		case ch <- p:
			return
		default:
		}
		select {
		case <-ch:
		default:
		}
	}
}

// notified handles the server's notifications. It must not block: the transport also reads responses.
func (c *connection) notified(n mcp.JSONRPCNotification) {
	fields := n.Params.AdditionalFields
	switch n.Method {
	case string(mcp.MethodNotificationProgress):
		token, ok := fields["progressToken"].(string)
		if !ok {
			return
		}
		var p progress
		p.done, _ = fields["progress"].(float64)
		p.total, _ = fields["total"].(float64)
		p.message, _ = fields["message"].(string)
		c.progress.deliver(token, p)
	case mcp.MethodNotificationToolsListChanged:
		c.changed()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		if c.stream.opened() {
			c.changed()
		}
	}
}

// standing is the state of the stream on which a server reports changes.
type standing struct {
	mu     sync.Mutex
	ready  chan struct{} // closed when the stream is open, or known never to be
	once   sync.Once
	isOpen bool
	told   time.Time
}

// reopenQuiet bounds how often a reconnecting stream counts as a change.
const reopenQuiet = 30 * time.Second

func (s *standing) init() { s.ready = make(chan struct{}) }

func (s *standing) markReady() { s.once.Do(func() { close(s.ready) }) }

// opened records that the stream is open. True means that it was open before, so changes may have been missed.
func (s *standing) opened() bool {
	s.markReady()
	s.mu.Lock()
	defer s.mu.Unlock()
	again := s.isOpen && time.Since(s.told) > reopenQuiet
	if again {
		s.told = time.Now()
	}
	s.isOpen = true
	return again
}

func (s *standing) wasOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.isOpen
}

// standingStream observes the old era's GET stream. The library keeps it open; if that fails the server is gone.
func (c *connection) standingStream(status int, err error) {
	switch {
	case err != nil:
		c.stream.markReady()
		c.refuseCalls(err)
	case status == 200:
		if c.stream.opened() {
			c.changed()
		}
	case status >= 400 && status < 500 && c.stream.wasOpen(): // 404, or another status for an unknown session
		c.refuseCalls(errSessionGone)
	default:
		c.stream.markReady()
	}
}

// listening waits until changes are observed, so that none is lost between listing and observing. Some servers send nothing until there is
// a change; those are not waited for long.
func (c *connection) listening(ctx context.Context) {
	if c.spec.kind != overHTTP || !c.server.listChanged {
		return
	}
	timer := time.NewTimer(250 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-c.stream.ready:
	case <-timer.C:
	case <-ctx.Done():
	case <-c.done:
	}
}

// listen subscribes to changes in the new era: one request whose response never ends.
func (c *connection) listen() {
	if !c.server.listChanged {
		return
	}
	c.background(func(ctx context.Context) {
		for pauses := (backoff.Policy{First: time.Second, Max: 30 * time.Second}).Start(); ; {
			begin := time.Now()
			a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodSubscriptionsListen,
				map[string]any{"notifications": mcp.SubscriptionFilter{ToolsListChanged: true}})
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && a.failure != nil:
				c.log.DebugContext(ctx, "tool server does not report changes", "server_id", c.spec.id, "error", a.failure.Message)
				c.stream.markReady()
				return
			case err != nil && asSendError(err).refused():
				c.stream.markReady()
				c.refuseCalls(fmt.Errorf("the stream of changes ended: %w", err))
				return
			}
			if time.Since(begin) > time.Minute {
				pauses.Reset()
			}
			if pauses.Wait(ctx) != nil {
				return
			}
		}
	})
}
