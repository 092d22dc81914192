package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// unsubscribeTimeout bounds the end of a subscription.
const unsubscribeTimeout = 5 * time.Second

// topicsOf returns what a request asks for.
func topicsOf(req *mcpbridgev1.WatchResourcesRequest) []watch.Topic {
	var topics []watch.Topic
	for _, uri := range req.GetUris() {
		topics = append(topics, watch.Topic{URI: uri})
	}
	if req.GetResourceList() {
		topics = append(topics, watch.Topic{List: watch.Resources})
	}
	if req.GetPromptList() {
		topics = append(topics, watch.Topic{List: watch.Prompts})
	}
	return topics
}

// WatchResources implements BridgeService.
func (s *Service) WatchResources(
	req *mcpbridgev1.WatchResourcesRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResourcesResponse],
) error {
	sp, err := s.resolve(req.GetServer())
	if err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		u, err := s.pool.get(sp)
		if err != nil {
			return unavailable(sp, err)
		}
		c, err := u.connection(stream.Context())
		if err != nil {
			return unavailable(sp, err)
		}
		err = c.watchResources(req, stream)
		e, ok := errors.AsType[*sendError](err)
		if !ok {
			return err
		}
		lost := e.fate == sessionLost || e.stale
		if lost {
			u.drop(c, e)
		}
		if !lost || attempt > 0 {
			return unavailable(sp, err)
		}
	}
}

// watchResources subscribes, and reports changes until the stream or the connection ends. A *sendError means that there is no subscription.
func (c *connection) watchResources(
	req *mcpbridgev1.WatchResourcesRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResourcesResponse],
) error {
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	topics := topicsOf(req)
	updated := c.updates.Add(topics)
	ended := make(chan error, 1)
	defer func() {
		if last := c.updates.Remove(topics, updated); !c.modern() {
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
				Uri: t.URI, ResourceList: t.List == watch.Resources, PromptList: t.List == watch.Prompts,
			}); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		case err := <-ended:
			return err
		case <-c.done:
			return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the connection to tool server %q ended", c.spec.name)
		case <-ctx.Done():
			return nil
		}
	}
}

// subscribe subscribes in the old era, resource by resource. Errors of the transport are *sendError.
func (c *connection) subscribe(ctx context.Context, uris []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.spec.callTimeout)
	defer cancel()
	for _, uri := range uris {
		a, err := c.ask(ctx, mcp.MethodResourcesSubscribe, map[string]any{"uri": uri})
		if err != nil {
			return err
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
