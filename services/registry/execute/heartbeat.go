package execute

import (
	"context"
	"time"
)

const (
	// sweepEvery is how often orphaned executions are looked for.
	sweepEvery = time.Minute
	// beatEvery is the longest pause between two signs of life: a call that another replica was asked to stop is found with them.
	beatEvery = time.Second
)

// Keep tells other replicas once in a while that the open executions of this one live. When ctx ends it refuses new calls,
// waits for the running ones as configured, gives up the rest and returns nil.
func (x *Executor) Keep(ctx context.Context) error {
	beat := context.WithoutCancel(ctx)
	tick, sweep := time.NewTicker(min(x.cfg.LeaseTTL/5, beatEvery)), time.NewTicker(sweepEvery)
	defer tick.Stop()
	defer sweep.Stop()
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
			return nil
		case <-tick.C:
			x.heartbeat(beat)
		case <-sweep.C:
			x.sweep(ctx)
		}
	}
}

// sweep marks the calls that died with their replica and that nobody asks for again, so that the ledger does not say for
// ever that they run. Those that somebody asks for are found by him, sooner.
func (x *Executor) sweep(ctx context.Context) {
	at := x.deps.Now()
	n, err := x.deps.Store.GiveUpOrphans(ctx, at.Add(-x.cfg.LeaseTTL), at)
	switch {
	case err != nil && ctx.Err() == nil:
		x.deps.Log.WarnContext(ctx, "orphaned executions were not looked for", "error", err)
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
