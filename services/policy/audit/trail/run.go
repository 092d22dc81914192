package trail

import (
	"context"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
)

const (
	// gather is how long new records wait for others, which then get their places in the same transaction. interval is the time between two
	// checks for what another process left.
	gather   = 100 * time.Millisecond
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
	for {
		t.try(ctx, log)
		select {
		case <-t.added:
			if backoff.Sleep(ctx, gather) != nil {
				return
			}
			select {
			case <-t.added: // meanwhile, so the next extension has it
			default:
			}
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (t *Trail) try(ctx context.Context, log *slog.Logger) {
	if err := t.Extend(ctx); err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "audit trail cannot be extended", "error", err)
	}
}
