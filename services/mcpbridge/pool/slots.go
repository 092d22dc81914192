package pool

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Enter waits for a call slot, as long as configured.
func (u *Upstream) Enter(ctx context.Context) error {
	select {
	case u.slots <- struct{}{}:
		return nil
	default:
	}
	limit := u.pool.cfg.QueueTimeout
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case u.slots <- struct{}{}:
		return nil
	case <-timer.C:
		return fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"tool server %q is busy: %d calls are running and none ended within %s", u.spec.Name, cap(u.slots), limit).
			Hint("Try again later, or raise mcpbridge.max_calls if the server can take more.").RetryAfter(limit)
	case <-ctx.Done():
		return wire.NotCalled(u.spec, wire.NotSent(ctx.Err(), "the call ended while it waited for its place"))
	}
}

// Leave releases the slot.
func (u *Upstream) Leave() { <-u.slots }
