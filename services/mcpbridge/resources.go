package mcpbridge

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
)

// updates delivers updates of resources to their watchers. The zero value is ready for use.
type updates struct {
	mu sync.Mutex
	to map[string]map[chan string]struct{}
}

// updateBuffer is how many updates wait for a slow watcher. Beyond it the oldest is dropped.
const updateBuffer = 256

// unsubscribeTimeout bounds the end of a subscription.
const unsubscribeTimeout = 5 * time.Second

func (u *updates) add(uris []string) chan string {
	ch := make(chan string, updateBuffer)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		u.to = map[string]map[chan string]struct{}{}
	}
	for _, uri := range uris {
		if u.to[uri] == nil {
			u.to[uri] = map[chan string]struct{}{}
		}
		u.to[uri][ch] = struct{}{}
	}
	return ch
}

// remove returns the URIs that nobody watches any more.
func (u *updates) remove(uris []string, ch chan string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last []string
	for _, uri := range uris {
		delete(u.to[uri], ch)
		if watchers, ok := u.to[uri]; ok && len(watchers) == 0 {
			delete(u.to, uri)
			last = append(last, uri)
		}
	}
	return last
}

func (u *updates) deliver(uri string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for ch := range u.to[uri] {
		select {
		case ch <- uri:
			continue
		default:
		}
		select {
		case <-ch:
		default:
		}
		ch <- uri // there is room, and nobody else sends
	}
}

// WatchResources implements BridgeService.
func (s *Service) WatchResources(
	req *mcpbridgev1.WatchResourcesRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResourcesResponse],
) error {
	sp, err := newSpec(req.GetServer(), s.cfg)
	if err != nil {
		return err
	}
	u, err := s.pool.get(sp)
	if err != nil {
		return unavailable(sp, err)
	}
	c, err := u.connection(stream.Context())
	if err != nil {
		return unavailable(sp, err)
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	updated := c.updates.add(req.GetUris())
	ended := make(chan error, 1)
	defer func() {
		if last := c.updates.remove(req.GetUris(), updated); !c.modern() {
			c.unsubscribe(last)
		}
	}()
	if c.modern() {
		go func() { ended <- c.listenTo(ctx, req.GetUris()) }()
	} else if err := c.subscribe(ctx, req.GetUris()); err != nil {
		return err
	}
	if err := stream.Send(&mcpbridgev1.WatchResourcesResponse{}); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	for {
		select {
		case uri := <-updated:
			if err := stream.Send(&mcpbridgev1.WatchResourcesResponse{Uri: uri}); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		case err := <-ended:
			return err
		case <-c.done:
			return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the connection to tool server %q ended", sp.name)
		case <-ctx.Done():
			return nil
		}
	}
}

// subscribe subscribes in the old era, resource by resource.
func (c *connection) subscribe(ctx context.Context, uris []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.spec.callTimeout)
	defer cancel()
	for _, uri := range uris {
		a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodResourcesSubscribe, map[string]any{"uri": uri})
		if err != nil {
			return unavailable(c.spec, err)
		}
		if a.failure != nil {
			return refusedSubscription(c.spec, a.failure)
		}
	}
	return nil
}

func refusedSubscription(sp *spec, f *mcp.JSONRPCErrorDetails) error {
	return fault.Invalid("uris", "tool server %q refuses the subscription: %s", sp.name, sp.redact(result.Excerpt([]byte(f.Message))))
}

// unsubscribe ends subscriptions of the old era in the background.
func (c *connection) unsubscribe(uris []string) {
	if len(uris) == 0 {
		return
	}
	c.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, unsubscribeTimeout)
		defer cancel()
		for _, uri := range uris {
			if _, err := c.request(ctx, c.nextID.Add(1), mcp.MethodResourcesUnsubscribe, map[string]any{"uri": uri}); err != nil {
				c.log.DebugContext(ctx, "subscription was not ended", "server_id", c.spec.id, "error", c.describe(err))
				return
			}
		}
	})
}

// listenTo subscribes in the new era: one request, whose response ends with the subscription.
func (c *connection) listenTo(ctx context.Context, uris []string) error {
	a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodSubscriptionsListen,
		map[string]any{"notifications": mcp.SubscriptionFilter{ResourceSubscriptions: uris}})
	switch {
	case err != nil:
		return unavailable(c.spec, err)
	case a.failure != nil:
		return refusedSubscription(c.spec, a.failure)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q ended the subscription", c.spec.name)
}
