package outbox

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/telemetry"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// wakeAgain is after what time a workflow that could not be woken is tried again.
	wakeAgain = 2 * time.Second
	// wakeBatch is how many workflows one sweep wakes.
	wakeBatch = 100
)

// NotifyWorkflow marks a turn for its workflow to be woken, since the journal has something new for it, and wakes it once the
// transaction is committed. The turn's session must be locked.
func (o *Outbox) NotifyWorkflow(tx *journal.Tx, t store.Turn) error {
	t.WakeTime = tx.Now().Add(wakeAgain)
	tx.After(func(context.Context) { o.wakeSoon(t) })
	return tx.SetWake(tx.Context(), t.Tenant, t.ID, t.WakeTime)
}

// WakeDue wakes the workflows that are marked and were not woken in time.
func (o *Outbox) WakeDue(ctx context.Context) error {
	if some, err := o.store.HasToWake(ctx, o.store.Now()); err != nil || !some {
		return err
	}
	var turns []store.Turn
	err := o.store.Write(ctx, func(tx *store.Tx) (err error) {
		now := o.store.Now()
		turns, err = tx.TakeToWake(ctx, now, now.Add(callTimeout+wakeAgain), wakeBatch)
		return err
	})
	for _, t := range turns {
		o.wakeSoon(t)
	}
	return err
}

// wakeSoon wakes a turn's workflow in the background. What fails is tried again by WakeDue.
func (o *Outbox) wakeSoon(t store.Turn) {
	o.job(func(ctx context.Context) { o.wakeOne(ctx, t) })
}

// wakeOne wakes a turn's workflow and removes the mark.
func (o *Outbox) wakeOne(ctx context.Context, t store.Turn) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	open, err := o.call(call, t)
	if err != nil {
		if ctx.Err() == nil {
			o.log.WarnContext(ctx, "workflow cannot be woken yet", "turn_id", t.ID, "error", err)
		}
		return
	}
	after := context.WithoutCancel(ctx)
	if err := o.store.Write(after, func(tx *store.Tx) error { return tx.Woken(after, t.Tenant, t.ID, t.WakeTime, !open) }); err != nil {
		o.log.ErrorContext(ctx, "wake-up of a turn's workflow cannot be recorded", "turn_id", t.ID, "error", err)
		return
	}
	if !open {
		select {
		case o.lost <- struct{}{}:
		default:
		}
	}
}

// call wakes a turn's workflow, with all that it takes to start it if that has not been done yet. It returns false if the
// workflow is closed.
func (o *Outbox) call(ctx context.Context, t store.Turn) (bool, error) {
	in, err := o.store.TurnInputs(ctx, t.Tenant, t.ID)
	if err != nil {
		return false, err
	}
	if len(in) != 1 { // the turn was deleted, which its workflow finds out by itself
		return true, nil
	}
	parent := ""
	if t.AgentPath != "" {
		c, err := o.store.Child(ctx, t.Tenant, t.ID)
		if err != nil {
			return false, err
		}
		parent = c.ParentTurnID
	}
	return o.engine.Wake(telemetry.WithTraceParent(ctx, t.TraceParent), Turn{
		Tenant: t.Tenant, TurnID: t.ID, SessionID: t.SessionID, AgentID: t.AgentID, ParentTurnID: parent,
	})
}
