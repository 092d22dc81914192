package toolserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// settleTime is how long a handler waits after a notification before it returns: mcp-go writes notifications and the result from different
// goroutines, and one sent right before the result can be lost.
const settleTime = 10 * time.Millisecond

// Notify sends a notification to the caller. If the connection's queue is full it waits for room.
func Notify(ctx context.Context, method string, params map[string]any) error {
	for {
		err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, method, params)
		if !errors.Is(err, server.ErrNotificationChannelBlocked) {
			return err
		}
		if err := Settle(ctx); err != nil {
			return fmt.Errorf("notify: %w", err)
		}
	}
}

// Settle waits until sent notifications are written.
func Settle(ctx context.Context) error {
	return Pause(ctx, settleTime)
}

// Pause waits for d or for the end of ctx, whichever is first; the latter is an error.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
