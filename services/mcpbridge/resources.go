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

// topic is what a watcher is notified of: a resource by its URI, or one of the server's lists.
type topic struct{ uri, list string }

// The lists of a server.
const (
	resourceList = "resources"
	promptList   = "prompts"
)

// updates delivers changes to their watchers. The zero value is ready for use.
type updates struct {
	mu sync.Mutex
	to map[topic]map[chan topic]struct{}
}

// updateBuffer is how many updates wait for a slow watcher. Beyond it the oldest is dropped.
const updateBuffer = 256

// unsubscribeTimeout bounds the end of a subscription.
const unsubscribeTimeout = 5 * time.Second

func (u *updates) add(topics []topic) chan topic {
	ch := make(chan topic, updateBuffer)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.to == nil {
		u.to = map[topic]map[chan topic]struct{}{}
	}
	for _, t := range topics {
		if u.to[t] == nil {
			u.to[t] = map[chan topic]struct{}{}
		}
		u.to[t][ch] = struct{}{}
	}
	return ch
}

// remove returns the URIs of resources that no watcher is left for.
func (u *updates) remove(topics []topic, ch chan topic) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var last []string
	for _, t := range topics {
		delete(u.to[t], ch)
		if watchers, ok := u.to[t]; ok && len(watchers) == 0 {
			delete(u.to, t)
			if t.uri != "" {
				last = append(last, t.uri)
			}
		}
	}
	return last
}

func (u *updates) deliver(t topic) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for ch := range u.to[t] {
		select {
		case ch <- t:
			continue
		default:
		}
		select {
		case <-ch:
		default:
		}
		ch <- t // there is room, and no other sender
	}
}

// topicsOf returns what a request asks for.
func topicsOf(req *mcpbridgev1.WatchResourcesRequest) []topic {
	var topics []topic
	for _, uri := range req.GetUris() {
		topics = append(topics, topic{uri: uri})
	}
	if req.GetResourceList() {
		topics = append(topics, topic{list: resourceList})
	}
	if req.GetPromptList() {
		topics = append(topics, topic{list: promptList})
	}
	return topics
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
	topics := topicsOf(req)
	updated := c.updates.add(topics)
	ended := make(chan error, 1)
	defer func() {
		if last := c.updates.remove(topics, updated); !c.modern() {
			c.unsubscribe(last)
		}
	}()
	if c.modern() {
		if filter := c.filter(req); !filter.IsEmpty() {
			go func() { ended <- c.listenTo(ctx, filter) }()
		}
	} else if err := c.subscribe(ctx, req.GetUris()); err != nil {
		return err
	}
	if err := stream.Send(&mcpbridgev1.WatchResourcesResponse{}); err != nil {
		return fmt.Errorf("send an event: %w", err)
	}
	for {
		select {
		case t := <-updated:
			if err := stream.Send(&mcpbridgev1.WatchResourcesResponse{
				Uri: t.uri, ResourceList: t.list == resourceList, PromptList: t.list == promptList,
			}); err != nil {
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

// filter returns what a request can subscribe to at the server in the new era.
func (c *connection) filter(req *mcpbridgev1.WatchResourcesRequest) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{
		ResourceSubscriptions: req.GetUris(), ResourcesListChanged: req.GetResourceList() && c.server.resourcesChange,
		PromptsListChanged: req.GetPromptList() && c.server.promptsChange,
	}
}

// listenTo subscribes in the new era: one request, whose response ends with the subscription.
func (c *connection) listenTo(ctx context.Context, filter mcp.SubscriptionFilter) error {
	a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodSubscriptionsListen, map[string]any{"notifications": filter})
	switch {
	case err != nil:
		return unavailable(c.spec, err)
	case a.failure != nil:
		return refusedSubscription(c.spec, a.failure)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q ended the subscription", c.spec.name)
}
