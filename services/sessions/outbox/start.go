package outbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/stack"
	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/stepview"
)

// startedRows returns the rows to delete. Only the goroutine of Run deletes them.
func (o *Outbox) startedRows() []store.Outgoing {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.started
}

// forget removes the first n rows from those to delete.
func (o *Outbox) forget(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.started = slices.Clone(o.started[n:])
}

// drop deletes the rows of started workflows.
func drop(ctx context.Context, tx *store.Tx, rows []store.Outgoing) error {
	for _, row := range rows {
		if err := tx.DropOutgoing(ctx, row.Tenant, row.TurnID); err != nil {
			return err
		}
	}
	return nil
}

// drain starts the workflows that may be started, as far as slots are free; a slot that becomes free triggers the next read. A
// sweep also deletes the rows of started workflows when there is nothing to start.
func (o *Outbox) drain(ctx context.Context, calls *sync.WaitGroup, sweep bool) error {
	for {
		free := cap(o.slots) - len(o.slots)
		if free == 0 {
			return nil
		}
		now := o.store.Now()
		started := o.startedRows()
		if some, err := o.store.HasOutgoing(ctx, now); err != nil || !some && (!sweep || len(started) == 0) {
			return err
		}
		sweep = false
		var taken, over []store.Outgoing
		err := o.store.Write(ctx, func(tx *store.Tx) (err error) {
			if err := drop(ctx, tx, started); err != nil {
				return err
			}
			until := now.Add(takenFor)
			if taken, err = tx.TakeOutgoing(ctx, now, until, free, o.cfg.MaxOpen); err != nil {
				return err
			}
			over, err = tx.TakeOver(ctx, now, until, min(free-len(taken), cap(o.late)-len(o.late)))
			return err
		})
		if err != nil {
			return err
		}
		o.forget(len(started))
		if len(taken)+len(over) == 0 {
			return nil
		}
		for _, out := range append(taken, over...) {
			o.launch(ctx, calls, out)
		}
	}
}

// launch starts a workflow in the background, in a slot of each kind that it needs. Only the goroutine of Run takes slots, so it
// never blocks.
func (o *Outbox) launch(ctx context.Context, calls *sync.WaitGroup, out store.Outgoing) {
	slots := []chan struct{}{o.slots}
	if out.Ended {
		slots = append(slots, o.late)
	}
	for _, s := range slots {
		s <- struct{}{}
	}
	calls.Go(func() {
		stack.GrowDeep()
		o.start(ctx, out)
		for _, s := range slots {
			<-s
		}
		o.Trigger()
	})
}

func (o *Outbox) start(ctx context.Context, out store.Outgoing) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	ended, err := o.ended(call, out)
	if err == nil {
		err = o.engine.Start(telemetry.WithTraceParent(call, out.TraceParent), Turn{
			Tenant: out.Tenant, TurnID: out.TurnID, SessionID: out.SessionID, AgentID: out.AgentID, ParentTurnID: out.ParentTurnID,
			Ended: ended, Again: out.Again,
		})
	}
	if err == nil {
		o.mu.Lock()
		o.started = append(o.started, out)
		o.mu.Unlock()
		return
	}
	after := context.WithoutCancel(ctx) // the row must be given back, also during a stop
	if ctx.Err() == nil {
		o.log.WarnContext(ctx, "turn cannot be dispatched yet", "turn_id", out.TurnID, "attempt", out.Attempts, "error", err)
	}
	pause := min(time.Second<<min(out.Attempts-1, 10), maxPause)
	if err := o.store.Write(after, func(tx *store.Tx) error {
		return tx.FreeOutgoing(after, out.Tenant, out.TurnID, o.store.Now().Add(pause))
	}); err != nil {
		o.log.ErrorContext(ctx, "outbox cannot be written", "turn_id", out.TurnID, "error", err)
	}
}

// ended returns how a turn ended that is over, nil for others. Without a finish step in the journal, its workflow has to find out.
func (o *Outbox) ended(ctx context.Context, out store.Outgoing) (*contract.Ended, error) {
	if !out.Ended {
		return nil, nil
	}
	steps, err := o.store.Steps(ctx, out.Tenant, out.TurnID)
	if err != nil {
		return nil, err
	}
	var all stepview.Outcomes
	for _, s := range steps {
		if !s.Done {
			continue
		}
		outcome, err := s.StepOutcome()
		if err != nil {
			return nil, err
		}
		all = append(all, outcome)
	}
	return all.Ended(), nil
}
