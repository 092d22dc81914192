package api

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
)

// Watch implements BridgeService.
func (b *Bridge) Watch(_ *mcpbridgev1.WatchRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResponse]) error {
	state, w := b.hub.Watch()
	defer b.hub.Leave(w)
	for _, e := range state {
		if err := stream.Send(eventToProto(e)); err != nil {
			return fmt.Errorf("send the present state: %w", err)
		}
	}
	for {
		select {
		case e, ok := <-w.Events():
			if !ok {
				why := "the bridge is stopping"
				if b.hub.Leave(w) {
					why = "the watcher fell behind"
				}
				return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "%s", why).Hint("Watch again; it starts with the present state.")
			}
			if err := stream.Send(eventToProto(e)); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// WatchResources implements BridgeService.
func (b *Bridge) WatchResources(
	req *mcpbridgev1.WatchResourcesRequest, stream grpc.ServerStreamingServer[mcpbridgev1.WatchResourcesResponse],
) error {
	sp, err := b.servers.Resolve(req.GetServer())
	if err != nil {
		return err
	}
	return b.runner.Watch(stream.Context(), sp, topicsFromProto(req), func(t watch.Topic) error {
		if err := stream.Send(&mcpbridgev1.WatchResourcesResponse{
			Uri: t.URI, ResourceList: t.List == watch.Resources, PromptList: t.List == watch.Prompts,
		}); err != nil {
			return fmt.Errorf("send an event: %w", err)
		}
		return nil
	})
}
