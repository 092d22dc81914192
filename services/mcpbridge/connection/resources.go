package connection

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/result"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// unsubscribeTimeout bounds the end of a subscription.
const unsubscribeTimeout = 5 * time.Second

// Watch subscribes to topics, and reports their changes until ctx or the connection ends, or tell returns an error. First it reports the
// zero topic: the subscription stands. A *wire.Error means that there is no subscription.
func (c *Connection) Watch(ctx context.Context, topics []watch.Topic, tell func(watch.Topic) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := subscription{Connection: c, filter: c.filterOf(topics)}
	updated := c.updates.Add(topics)
	ended := make(chan error, 1)
	defer func() {
		if last := c.updates.Remove(topics, updated); !c.wire.Modern() {
			s.cancel(last)
		}
	}()
	if c.wire.Modern() {
		if !s.filter.IsEmpty() {
			go func() { ended <- s.hold(ctx) }()
		}
	} else if err := s.begin(ctx); err != nil {
		return err
	}
	if err := tell(watch.Topic{}); err != nil {
		return err
	}
	for {
		select {
		case t := <-updated:
			if err := tell(t); err != nil {
				return err
			}
		case err := <-ended:
			return err
		case <-c.done:
			return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the connection to tool server %q ended", c.spec.Name)
		case <-ctx.Done():
			return nil
		}
	}
}

// subscription is a subscription to what the filter has.
type subscription struct {
	*Connection
	filter mcp.SubscriptionFilter
}

// begin subscribes in the old era, resource by resource. Errors of the transport are *wire.Error.
func (s subscription) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.spec.CallTimeout)
	defer cancel()
	for _, uri := range s.filter.ResourceSubscriptions {
		a, err := s.Ask(ctx, mcp.MethodResourcesSubscribe, map[string]any{"uri": uri})
		if err != nil {
			return err
		}
		if a.Failure != nil {
			return s.refused(a.Failure)
		}
	}
	return nil
}

// refused returns the fault of a subscription that the server refuses.
func (s subscription) refused(f *mcp.JSONRPCErrorDetails) error {
	return fault.Invalid("uris", "tool server %q refuses the subscription: %s", s.spec.Name, s.spec.Redact(result.Excerpt([]byte(f.Message))))
}

// cancel ends subscriptions of the old era in the background.
func (s subscription) cancel(uris []string) {
	if len(uris) == 0 {
		return
	}
	s.background(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, unsubscribeTimeout)
		defer cancel()
		for _, uri := range uris {
			if _, err := s.request(ctx, mcp.MethodResourcesUnsubscribe, map[string]any{"uri": uri}); err != nil {
				s.log.DebugContext(ctx, "subscription was not ended", "server_id", s.spec.ID, "error", s.describe(err))
				return
			}
		}
	})
}

// filterOf returns which of the topics can be subscribed to at the server.
func (c *Connection) filterOf(topics []watch.Topic) (f mcp.SubscriptionFilter) {
	for _, t := range topics {
		switch t.List {
		case watch.Resources:
			f.ResourcesListChanged = c.info.resourcesChange
		case watch.Prompts:
			f.PromptsListChanged = c.info.promptsChange
		default:
			f.ResourceSubscriptions = append(f.ResourceSubscriptions, t.URI)
		}
	}
	return f
}

// hold subscribes in the new era: one request, whose response ends with the subscription.
func (s subscription) hold(ctx context.Context) error {
	a, err := s.request(ctx, mcp.MethodSubscriptionsListen, map[string]any{"notifications": s.filter})
	switch {
	case err != nil:
		return wire.Unavailable(s.spec, err)
	case a.Failure != nil:
		return s.refused(a.Failure)
	}
	return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "tool server %q ended the subscription", s.spec.Name)
}
