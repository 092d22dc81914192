package eventlog

import (
	"context"
	"errors"
	"math"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/timestamp"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// ReadEvents reads a part of the log for another service, see windlass.registry.v1.EventLogService.
func (l *Log) ReadEvents(ctx context.Context, req *registryv1.ReadEventsRequest) (*registryv1.ReadEventsResponse, error) {
	if req.GetAfter() > math.MaxInt64/2 || req.GetBefore() > math.MaxInt64/2 {
		return nil, ahead()
	}
	page, err := l.Read(ctx, Query{
		Tenant: req.GetTenant(), After: int64(req.GetAfter()), Before: int64(req.GetBefore()), Newest: req.GetNewestFirst(),
		Types: req.GetTypes(), Subject: req.GetSubject(), Since: timestamp.Time(req.GetSince()), Until: timestamp.Time(req.GetUntil()),
		Limit: int(req.GetLimit()), Owner: req.GetOwner(),
	})
	if errors.Is(err, ErrAhead) {
		return nil, ahead()
	}
	if err != nil {
		return nil, err
	}
	resp := &registryv1.ReadEventsResponse{
		First: uint64(page.First), Last: uint64(page.Last), Position: uint64(page.Position), Done: page.Done, Head: uint64(page.Head),
	}
	for _, e := range page.Events {
		ce, err := e.CloudEvent(l.Source())
		if err != nil {
			return nil, err
		}
		resp.Events, resp.Numbers = append(resp.Events, ce), append(resp.Numbers, uint64(e.Seq))
	}
	return resp, nil
}

func ahead() error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR, "the position is ahead of the events")
}
