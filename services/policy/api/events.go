package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/eventlog"
	policyeventsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policyevents/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// eventLog implements EventLogService.
type eventLog struct {
	policyeventsv1.UnimplementedEventLogServiceServer
	log *eventlog.Log
}

// ReadEvents implements EventLogService.
func (s *eventLog) ReadEvents(ctx context.Context, req *registryv1.ReadEventsRequest) (*registryv1.ReadEventsResponse, error) {
	return s.log.ReadEvents(ctx, req)
}
