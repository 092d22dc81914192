package mcpbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// progress is the progress of a call.
type progress struct {
	done, total float64
	message     string
}

// logMessage is a log message of a server.
type logMessage struct {
	level, logger string
	data          []byte // JSON
}

// notice is what a server says about a running call; one of the fields is set.
type notice struct {
	progress *progress
	log      *logMessage
}

// routes delivers notices to their calls: progress by token, since servers send it on any of a session's streams. Log messages have no
// token, so they are delivered only while a single call runs: those of several cannot be told apart, and may not be for each other's eyes.
type routes struct {
	mu sync.Mutex
	to map[string]*inbox
}

// noticeBuffer is how many notices wait for a slow caller; the oldest is dropped first.
const noticeBuffer = 256

// inbox passes the notices of a call on to its caller, in order, from a goroutine that runs only while there are some: most calls have
// none.
type inbox struct {
	tell func([]notice) error
	stop context.CancelFunc // ends the call of a caller that takes no more notices

	mu      sync.Mutex
	notices []notice
	running bool
	all     sync.WaitGroup
	stopped bool // of pass
}

// put never blocks.
func (i *inbox) put(n notice) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.notices) == noticeBuffer {
		i.notices = append(i.notices[:0], i.notices[1:]...)
	}
	i.notices = append(i.notices, n)
	if !i.running {
		i.running = true
		i.all.Go(i.pass)
	}
}

// pass passes on what waits.
func (i *inbox) pass() {
	for {
		i.mu.Lock()
		waiting := i.notices
		i.notices = nil
		if i.running = len(waiting) > 0; !i.running {
			i.mu.Unlock()
			return
		}
		i.mu.Unlock()
		if !i.stopped && i.tell(waiting) != nil {
			i.stopped = true
			i.stop()
		}
	}
}

func (r *routes) init() { r.to = map[string]*inbox{} }

// add routes the notices with a token to the call's caller.
func (r *routes) add(token string, tell func([]notice) error, stop context.CancelFunc) *inbox {
	in := &inbox{tell: tell, stop: stop}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to[token] = in
	return in
}

// remove ends that, and returns when the caller has been told all that came before.
func (r *routes) remove(token string, in *inbox) {
	r.mu.Lock()
	delete(r.to, token)
	r.mu.Unlock()
	in.all.Wait()
}

func (r *routes) deliver(token string, p progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in, ok := r.to[token]; ok {
		in.put(notice{progress: &p})
	}
}

func (r *routes) deliverLog(m logMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.to) != 1 {
		return
	}
	for _, in := range r.to {
		in.put(notice{log: &m})
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
	case methodLog:
		data, err := json.Marshal(fields["data"])
		if err != nil || len(data) > maxLogBytes {
			return
		}
		m := logMessage{data: data}
		m.level, _ = fields["level"].(string)
		m.logger, _ = fields["logger"].(string)
		c.progress.deliverLog(m)
	case mcp.MethodNotificationResourceUpdated:
		if uri, ok := fields["uri"].(string); ok {
			c.updates.Deliver(watch.Topic{URI: uri})
		}
	case mcp.MethodNotificationResourcesListChanged:
		c.updates.Deliver(watch.Topic{List: watch.Resources})
	case mcp.MethodNotificationPromptsListChanged:
		c.updates.Deliver(watch.Topic{List: watch.Prompts})
	case mcp.MethodNotificationToolsListChanged:
		c.changed()
	case mcp.MethodNotificationSubscriptionsAcknowledged:
		if c.stream.opened() {
			c.changed()
		}
	}
}

// methodLog is the notification with a log message; maxLogBytes limits its data.
const (
	methodLog   = "notifications/message"
	maxLogBytes = 64 << 10
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
