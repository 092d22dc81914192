package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/eventlog"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// EventLog implements EventLogService.
type EventLog struct {
	registryv1.UnimplementedEventLogServiceServer
	log *eventlog.Log
}

// ReadEvents implements EventLogService.
func (s *EventLog) ReadEvents(ctx context.Context, req *registryv1.ReadEventsRequest) (*registryv1.ReadEventsResponse, error) {
	return s.log.ReadEvents(ctx, req)
}
