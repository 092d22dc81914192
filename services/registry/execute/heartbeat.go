package execute

import (
	"context"
	"sync"
	"time"
)

const (
	// sweepEvery is the interval between sweeps of orphaned executions.
	sweepEvery = time.Minute
	// heartbeatEvery is the longest interval between heartbeats, which also find calls that another replica was asked to stop.
	heartbeatEvery = time.Second
)

// Keep extends the leases of this replica's open executions periodically. When ctx ends it rejects new calls, waits for the running ones as
// configured, gives up the rest and returns nil.
func (x *Executor) Keep(ctx context.Context) error {
	beat := context.WithoutCancel(ctx)
	tick, sweep := time.NewTicker(min(x.cfg.LeaseTTL/5, heartbeatEvery)), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
	var under sync.WaitGroup
	under.Go(func() { x.keepDelivering(ctx) })
	x.sweep(ctx)
	drained := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		x.flights.close(x.cfg.DrainTimeout)
		close(drained)
	})
	defer stop()
	for {
		select {
		case <-drained:
			under.Wait()
			x.deliver(beat)
			return x.deps.Store.Flush(beat)
		case <-tick.C:
			x.heartbeat(beat)
		case <-sweep.C:
			x.sweep(ctx)
		}
	}
}

// sweep gives up orphaned calls that are never requested again, so that the ledger does not show them as running forever. A request for
// such a call finds it sooner.
func (x *Executor) sweep(ctx context.Context) {
	at := x.deps.Now()
	n, err := x.deps.Store.GiveUpOrphans(ctx, at.Add(-x.cfg.LeaseTTL), at)
	switch {
	case err != nil && ctx.Err() == nil:
		x.deps.Log.WarnContext(ctx, "orphaned executions were not swept", "error", err)
	case n > 0:
		x.deps.Log.WarnContext(ctx, "executions were orphaned", "executions", n)
	}
}

func (x *Executor) heartbeat(ctx context.Context) {
	rows := x.flights.held()
	if len(rows) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.cfg.LeaseTTL)
	defer cancel()
	stopped, err := x.deps.Store.Extend(ctx, x.owner, rows, x.deps.Now().Add(x.cfg.LeaseTTL))
	if err != nil {
		x.deps.Log.WarnContext(ctx, "leases of executions were not extended", "executions", len(rows), "error", err)
	}
	x.flights.stopRows(stopped)
}
