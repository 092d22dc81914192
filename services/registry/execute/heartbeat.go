package execute

import (
	"context"
	"time"
)

// Keep tells other replicas once in a while that the open executions of this one live. When ctx ends it refuses new calls,
// waits for the running ones as configured, gives up the rest and returns nil.
func (x *Executor) Keep(ctx context.Context) error {
	beat := context.WithoutCancel(ctx)
	tick := time.NewTicker(x.cfg.LeaseTTL / 5)
	defer tick.Stop()
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		x.flights.close(x.cfg.DrainTimeout)
		close(drained)
	})
	defer stop()
	for {
		select {
		case <-drained:
			return nil
		case <-tick.C:
			x.heartbeat(beat)
		}
	}
}

func (x *Executor) heartbeat(ctx context.Context) {
	rows := x.flights.held()
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.cfg.LeaseTTL)
	defer cancel()
	if err := x.deps.Store.Extend(ctx, x.owner, rows, now().Add(x.cfg.LeaseTTL)); err != nil {
		x.deps.Log.WarnContext(ctx, "leases of executions were not extended", "executions", len(rows), "error", err)
	}
}
