package wait

import (
	"context"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
)

// expireAgain is the pause before waits that have expired and could not be ended are tried again.
const expireAgain = 10 * time.Second

// Expire ends the waits of a turn that have expired. The turn's workflow, which calls it, is not notified.
func (s *Service) Expire(ctx context.Context, t store.Turn) error { return s.expire(ctx, t, false) }

// Sweep ends all waits that have expired.
func (s *Service) Sweep(ctx context.Context) error {
	return sweep.Due(ctx, sweep.ByNow(s.deps.Store, s.deps.Store.DueWaits), s.expireDue)
}

// expireDue ends the waits of a turn that have expired, and wakes the turn. If that fails they are tried again later.
func (s *Service) expireDue(ctx context.Context, t store.Turn) error {
	cause := s.expire(ctx, t, true)
	if cause == nil || ctx.Err() != nil {
		return cause
	}
	s.deps.Log.WarnContext(ctx, "waits of a turn cannot be ended yet", "turn_id", t.ID, "error", cause)
	return s.deps.Store.Write(ctx, func(tx *store.Tx) error {
		now := s.deps.Store.Now()
		return tx.PostponeWaits(ctx, t.Tenant, t.ID, now, now.Add(expireAgain))
	})
}

func (s *Service) expire(ctx context.Context, seen store.Turn, wake bool) error {
	return s.deps.Journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil {
			return err
		}
		open, err := Open(tx, t)
		if err != nil {
			return err
		}
		if err := s.followAndSave(tx, &t); err != nil { // what a crash kept from it
			return err
		}
		expired := 0
		for i := range open {
			if !open[i].Due(tx.Now()) {
				continue
			}
			expired++
			if err := s.End(tx, &t, &open[i], turnv1.Verdict_VERDICT_EXPIRED, ""); err != nil {
				return err
			}
		}
		if expired == 0 || !wake {
			return nil
		}
		return s.deps.Waker.Wake(tx, t)
	})
}
