package connection

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

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
func (c *Connection) standingStream(status int, err error) {
	switch {
	case err != nil:
		c.stream.markReady()
		c.refuseCalls(err)
	case status == 200:
		if c.stream.opened() {
			c.changed()
		}
	case status >= 400 && status < 500 && c.stream.wasOpen(): // 404, or another status for an unknown session
		c.refuseCalls(wire.ErrSessionGone)
	default:
		c.stream.markReady()
	}
}

// Listening waits until changes are observed, so that none is lost between listing and observing. Some servers send nothing until there is
// a change; those are not waited for long.
func (c *Connection) Listening(ctx context.Context) {
	if c.spec.Kind != server.HTTP || !c.info.ListChanged {
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
func (c *Connection) listen() {
	if !c.info.ListChanged {
		return
	}
	c.background(func(ctx context.Context) {
		for pauses := (backoff.Policy{First: time.Second, Max: 30 * time.Second}).Start(); ; {
			begin := time.Now()
			a, err := c.request(ctx, mcp.MethodSubscriptionsListen,
				map[string]any{"notifications": mcp.SubscriptionFilter{ToolsListChanged: true}})
			switch {
			case ctx.Err() != nil:
				return
			case err == nil && a.Failure != nil:
				c.log.DebugContext(ctx, "tool server does not report changes", "server_id", c.spec.ID, "error", a.Failure.Message)
				c.stream.markReady()
				return
			case err != nil && wire.AsError(err).Refused():
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
