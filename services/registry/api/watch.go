package api

import (
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// watchEvery is how often a watcher compares versions. Tools change on any replica, so the database is asked.
const watchEvery = time.Second

// WatchTools implements ToolService.
func (s *Tools) WatchTools(_ *registryv1.WatchToolsRequest, stream grpc.ServerStreamingServer[registryv1.WatchToolsResponse]) error {
	ctx := stream.Context()
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for told := ""; ; {
		version, err := s.store.ToolsVersion(ctx, authn.Tenant(ctx))
		if err != nil {
			return fmt.Errorf("read version of tools: %w", err)
		}
		if version != told {
			told = version
			if err := stream.Send(&registryv1.WatchToolsResponse{Version: version}); err != nil {
				return fmt.Errorf("send an event: %w", err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
