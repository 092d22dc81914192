package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// lostBatch is how many turns one look asks after.
	lostBatch = 20
	// forgetEvery is how often expired idempotency keys are removed.
	forgetEvery = 10 * time.Minute
)

// sweep runs the background loops until ctx ends.
func (s *Service) sweep(ctx context.Context) error {
	ctx = authn.With(ctx, authn.Service("sessions"))
	var loops sync.WaitGroup
	loops.Go(func() { s.outbox.run(ctx) })
	loops.Go(func() { s.keepDeltas(ctx) })
	loops.Go(func() { s.look(ctx) })
	loops.Go(func() { s.wake(ctx) })
	loops.Go(func() { s.hooks.run(ctx) })
	loops.Go(func() { s.eraser.Run(ctx) })
	loops.Go(func() { s.keepSchedules(ctx) })
	loops.Go(func() { s.keepFires(ctx) })
	loops.Wait()
	return nil
}

// look asks after lost turns at each interval, and forgets old keys now and then.
func (s *Service) look(ctx context.Context) {
	tick := time.NewTicker(s.cfg.SweepInterval)
	defer tick.Stop()
	var forgotten time.Time
	for {
		if err := s.findLost(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "lost turns cannot be looked for", "error", err)
		}
		if err := s.lookAtWaits(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "what turns wait for cannot be looked at", "error", err)
		}
		if err := s.settleFamilies(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "families of turns cannot be looked at", "error", err)
		}
		if time.Since(forgotten) > forgetEvery {
			forgotten = time.Now()
			if err := s.store.ForgetOnce(ctx, s.store.NowUs()); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "expired idempotency keys cannot be removed", "error", err)
			}
			if err := s.forgetDeliveries(ctx); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "old deliveries of webhooks cannot be removed", "error", err)
			}
			if err := s.reseal(ctx); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "secrets cannot be sealed anew", "error", err)
			}
		}
		select {
		case <-tick.C:
		case <-s.outbox.lost:
		case <-ctx.Done():
			return
		}
	}
}

// keepDeltas makes the bus keep deltas. While the bus is away it tries again; until then late watchers miss deltas, no more.
func (s *Service) keepDeltas(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.bus.EnsureKept(ctx, bus.KeptConfig{
			Name: contract.DeltaStream, Subjects: []string{contract.AllDeltas}, MaxAge: s.cfg.DeltaAge, MaxBytes: s.cfg.DeltaBytes,
		})
		if err == nil {
			return
		}
		s.log.DebugContext(ctx, "bus keeps no deltas yet", "error", err)
		pause := time.NewTimer(s.cfg.SweepInterval)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// findLost asks after the workflows of turns that nobody has worked on for a while.
func (s *Service) findLost(ctx context.Context) error {
	turns, err := s.store.Stale(ctx, s.store.NowUs(), lostBatch)
	if err != nil {
		return err
	}
	for _, t := range turns {
		asking, cancel := context.WithTimeout(ctx, startTimeout)
		state, err := s.outbox.dispatcher.State(asking, t.ID)
		cancel()
		if err != nil { // nobody can tell now; it is asked again at the next look
			s.log.DebugContext(ctx, "state of a workflow is not known", "turn_id", t.ID, "error", err)
			return nil
		}
		if err := s.settle(ctx, t, state != WorkflowOpen); err != nil {
			return err
		}
	}
	return nil
}

// settle starts the workflow of a lost turn anew, or ends the turn when that was done too often. A turn that is not lost is
// looked at again later.
func (s *Service) settle(ctx context.Context, seen store.Turn, lost bool) error {
	later := s.store.NowUs() + s.cfg.LostAfter.Microseconds()
	if !lost {
		return s.store.Write(ctx, func(tx *store.Tx) error { return tx.SetCheck(ctx, seen.Tenant, seen.ID, later, seen.Restarts) })
	}
	err := s.journal.Write(ctx, func(tx *journal.Tx) error {
		t, err := tx.LockTurn(seen.Tenant, seen.ID)
		if err != nil || ended(t) || t.CheckUs != seen.CheckUs { // another replica was faster
			return err
		}
		if int(t.Restarts) >= s.cfg.MaxRestarts {
			_, err := s.endTurn(tx, &t, lostEnding(t))
			return err
		}
		if err := tx.SetCheck(ctx, t.Tenant, t.ID, later, t.Restarts+1); err != nil {
			return err
		}
		in, err := tx.TurnInput(ctx, t.Tenant, t.ID)
		if err != nil {
			return err
		}
		return s.send(tx, t, in.Input, true)
	})
	if err != nil {
		return err
	}
	s.log.WarnContext(ctx, "workflow of a turn was lost", "turn_id", seen.ID, "restarts", seen.Restarts)
	s.outbox.kick()
	return nil
}

func lostEnding(t store.Turn) *turnv1.Ending {
	if t.CancelRequested {
		return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_CANCELLED, StopReason: "cancelled"}
	}
	return &turnv1.Ending{Status: turnv1.TurnStatus_TURN_STATUS_FAILED, StopReason: "error", Error: &turnv1.TurnError{
		Code: "internal", Message: "The turn's workflow was lost again and again. Look at it in Temporal, and send the input once more.",
	}}
}
