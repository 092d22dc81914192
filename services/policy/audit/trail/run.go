package trail

import (
	"context"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

const (
	// pace is the shortest time between two extensions of the chains, interval the time between two checks for what another process left.
	pace     = 20 * time.Millisecond
	interval = time.Second
	// endTimeout bounds the last extension.
	endTimeout = 2 * time.Second
)

// Run extends the chains until ctx ends, and a last time then.
func (t *Trail) Run(ctx context.Context, log *slog.Logger) {
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		t.try(ctx, log)
	}()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		t.try(ctx, log)
		if backoff.Sleep(ctx, pace-time.Since(began)) != nil {
			return
		}
		select {
		case <-t.added:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (t *Trail) try(ctx context.Context, log *slog.Logger) {
	if err := t.Extend(ctx); err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "audit trail cannot be extended", "error", err)
	}
}
