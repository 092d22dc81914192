package sessionstest

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// Registry serves the events of a log as the registry does. The zero value has none.
type Registry struct {
	// Log is a log of another database; nil = no events.
	Log *eventlog.Log

	mu   sync.Mutex
	away bool
}

// SetAway makes the registry unreachable, or reachable again.
func (r *Registry) SetAway(away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.away = away
}

// ReadEvents implements eventfeed.Registry.
func (r *Registry) ReadEvents(ctx context.Context, in *registryv1.ReadEventsRequest, _ ...grpc.CallOption) (
	*registryv1.ReadEventsResponse, error,
) {
	r.mu.Lock()
	away := r.away
	r.mu.Unlock()
	if away {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the registry is away")
	}
	if r.Log == nil {
		if in.GetAfter() > 0 || in.GetBefore() > 1 {
			return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR, "ahead")
		}
		position := uint64(0)
		if in.GetNewestFirst() {
			position = 1
		}
		return &registryv1.ReadEventsResponse{Done: true, Position: position}, nil
	}
	return r.Log.ReadEvents(ctx, in)
}
