package sessions

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// expireAgain is after what time waits that are over and could not be ended are tried again.
const expireAgain = 10 * time.Second

// announce tells the workers of a turn that may begin: one of them starts its eager run.
func (s *Service) announce(ctx context.Context, t store.Turn) {
	s.workers.Begin(ctx, t)
	s.outbox.TriggerAfter(s.cfg.StartDelay)
}

// notifyWorkflow tells those who work on a turn that the journal has something new for it: workers at once, the workflow for certain. The turn's
// session is locked, and what is new is written.
func (s *Service) notifyWorkflow(tx *journal.Tx, t store.Turn) error {
	tx.After(func(ctx context.Context) { s.workers.Wake(ctx, t) })
	return s.outbox.NotifyWorkflow(tx, t)
}

// sweepWaits expires waits whose time is up, and wakes the workflows that were not woken in time.
func (s *Service) sweepWaits(ctx context.Context) error {
	if err := sweep.Due(ctx, dueNow(s.store, s.store.DueWaits), s.expireDue); err != nil {
		return err
	}
	return s.outbox.WakeDue(ctx)
}

// expireDue ends the waits of a turn whose time is up. If that fails they are tried again later.
func (s *Service) expireDue(ctx context.Context, t store.Turn) error {
	cause := s.expire(ctx, t, true)
	if cause == nil || ctx.Err() != nil {
		return cause
	}
	s.log.WarnContext(ctx, "waits of a turn cannot be ended yet", "turn_id", t.ID, "error", cause)
	return s.store.Write(ctx, func(tx *store.Tx) error {
		now := s.store.NowUs()
		return tx.PostponeWaits(ctx, t.Tenant, t.ID, now, now+expireAgain.Microseconds())
	})
}
