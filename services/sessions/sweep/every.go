package sweep

import (
	"context"
	"time"
)

// Every calls run at once, then at each interval and each time wake delivers, until ctx ends. wake may be nil.
func Every(ctx context.Context, interval time.Duration, wake <-chan struct{}, run func(context.Context)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		run(ctx)
		select {
		case <-wake:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}
