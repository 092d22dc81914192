package mcp

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
)

// listenLegacy serves the stream of notifications of a client of the old era: that one of its lists has changed, or a resource that it has
// subscribed to.
func (h *Handler) listenLegacy(w http.ResponseWriter, r *http.Request, source string) {
	_, ok := parseSession(r.Header.Get(mcp.HeaderSessionID))
	if mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion)) || r.Header.Get(mcp.HeaderSessionID) == "" {
		notAllowed(w, http.MethodPost)
		return
	}
	if !ok {
		http.Error(w, "there is no such session; initialize a new one", http.StatusNotFound)
		return
	}
	ctx, cancel := authn.Hold(r.Context()) // the client connects again, and is asked for a new token
	defer cancel()
	out := newReply(w, r, h.cfg.WriteTimeout, cancel)
	if !out.accepts {
		http.Error(w, "the stream is text/event-stream", http.StatusNotAcceptable)
		return
	}
	out.keepAlive(h.cfg.Heartbeat)
	defer out.close()
	session := ownSession{subject(ctx), r.Header.Get(mcp.HeaderSessionID)}
	var all sync.WaitGroup
	resync := make(chan struct{}, 1)
	all.Go(func() {
		h.watches.watchLists(ctx, source, lists{resources: true, prompts: true}, resync, func() {}, func(l lists) {
			for _, method := range l.notifications() {
				out.send(notification(method, nil))
			}
		})
	})
	all.Go(func() {
		h.watches.watchSession(ctx, source, session, func(uri string) { out.send(resourceUpdated(uri, nil)) })
	})
	connected := func() {
		out.mu.Lock()
		defer out.mu.Unlock()
		out.write([]byte(": connected\n\n"))
	}
	h.watches.watchTools(ctx, out, connected, func() {
		notify(resync)
		out.send(notification(mcp.MethodNotificationToolsListChanged, nil))
	})
	cancel()
	all.Wait()
}

// listen serves the stream of notifications of a client of the new era. Its first message says that the client misses nothing from now on.
func (h *Handler) listen(q *request) (any, *failure) {
	accepted, f := q.subscriptions()
	if f != nil {
		return nil, f
	}
	if !q.out.accepts {
		return nil, &failure{Code: mcp.INVALID_REQUEST, Message: "the client does not accept text/event-stream", status: http.StatusNotAcceptable}
	}
	meta := map[string]any{mcp.MetaKeySubscriptionID: q.id}
	acknowledge := func() {
		q.out.send(notification(mcp.MethodNotificationSubscriptionsAcknowledged, map[string]any{"_meta": meta, "notifications": accepted}))
	}
	result := map[string]any{"_meta": meta}
	if accepted.IsEmpty() {
		acknowledge()
		return result, nil
	}
	ctx, cancel := authn.Hold(q.ctx)
	defer cancel()
	acknowledged := make(chan struct{})
	send := func(m any) {
		<-acknowledged
		q.out.send(m)
	}
	var all, ready sync.WaitGroup
	ready.Add(3)
	resync := make(chan struct{}, 1)
	all.Go(func() {
		want := lists{accepted.ResourcesListChanged, accepted.PromptsListChanged}
		h.watches.watchLists(ctx, q.source, want, resync, ready.Done, func(l lists) {
			for _, method := range l.notifications() {
				send(notification(method, map[string]any{"_meta": meta}))
			}
		})
	})
	all.Go(func() {
		h.watches.watchResources(ctx, q.source, accepted.ResourceSubscriptions, ready.Done, func(uri string) { send(resourceUpdated(uri, meta)) })
	})
	all.Go(func() {
		h.watches.watchTools(ctx, q.out, ready.Done, func() {
			notify(resync)
			if accepted.ToolsListChanged {
				send(notification(mcp.MethodNotificationToolsListChanged, map[string]any{"_meta": meta}))
			}
		})
	})
	waitAtMost(ctx, readyTimeout, &ready)
	acknowledge()
	close(acknowledged)
	all.Wait()
	if cause := fault.As(context.Cause(ctx)); cause != nil {
		return nil, &failure{Code: mcp.INVALID_REQUEST, Message: cause.Message}
	}
	return result, nil
}

// subscriptions returns what the client subscribes to, as far as it can be.
func (q *request) subscriptions() (mcp.SubscriptionFilter, *failure) {
	var p struct {
		Notifications mcp.SubscriptionFilter `json:"notifications"`
	}
	if f := decode(q.params, &p); f != nil {
		return p.Notifications, f
	}
	accepted := p.Notifications
	for _, uri := range accepted.ResourceSubscriptions {
		if _, _, ok := q.route(uri, uriMark); !ok {
			return accepted, noResource(uri)
		}
	}
	if len(accepted.ResourceSubscriptions) > maxSubscriptions {
		return accepted, invalidParams(fmt.Sprintf("subscribe to at most %d resources", maxSubscriptions))
	}
	return accepted, nil
}

// notify sends without blocking; a notification that waits already says the same.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// readyTimeout bounds the wait for sources that do not answer to a subscription.
const readyTimeout = 5 * time.Second

// waitAtMost waits for a group, at most for a time or until ctx ends.
func waitAtMost(ctx context.Context, limit time.Duration, group *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
