package sessions

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
	"github.com/windlass-dev/windlass/workflows/contract"
)

const (
	// forgetEvery is how often expired idempotency keys are removed.
	forgetEvery = 10 * time.Minute
	// checkAgain is the pause before the next check of a turn the state of whose workflow could not be read.
	checkAgain = 5 * time.Second
	// engineTimeout bounds one call of the workflow engine.
	engineTimeout = 10 * time.Second
)

// sweep runs the background loops until ctx ends. Each has a goroutine of its own, so that none waits for what another one cannot reach.
func (s *Service) sweep(ctx context.Context) error {
	ctx = authn.With(ctx, authn.Service("sessions"))
	var loops sync.WaitGroup
	for _, run := range []func(context.Context){s.outbox.Run, s.keepDeltas, s.forget, s.workers.Run, s.webhooks.Run, s.eraser.Run, s.schedules.Run} {
		loops.Go(func() { run(ctx) })
	}
	for _, l := range []struct {
		wake <-chan struct{}
		run  func(context.Context) error
		name string
	}{
		{s.outbox.Lost(), s.findLost, "lost turns"},
		{nil, s.sweepWaits, "waits"},
		{nil, s.syncTrees, "sub-agents"},
	} {
		loops.Go(func() {
			sweep.Every(ctx, s.cfg.SweepInterval, l.wake, func(ctx context.Context) {
				if err := l.run(ctx); err != nil && ctx.Err() == nil {
					s.log.ErrorContext(ctx, "sweep failed", "sweep", l.name, "error", err)
				}
			})
		})
	}
	loops.Wait()
	return nil
}

// forget removes what is old now and then.
func (s *Service) forget(ctx context.Context) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.store.ForgetOnce(ctx, s.store.NowUs()); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "expired idempotency keys cannot be removed", "error", err)
		}
		if err := s.webhooks.Maintain(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "maintenance of webhooks failed", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
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

// findLost checks the workflows of turns on which nothing was done for a while.
func (s *Service) findLost(ctx context.Context) error {
	return sweep.Due(ctx, dueNow(s.store, s.store.Stale), s.checkLost)
}

// checkLost checks the workflow of one turn. If its state cannot be read it is checked again later.
func (s *Service) checkLost(ctx context.Context, t store.Turn) error {
	asking, cancel := context.WithTimeout(ctx, engineTimeout)
	state, cause := s.engine.State(asking, t.ID)
	cancel()
	away := cause != nil
	if !away {
		cause = s.recoverLost(ctx, t, state != WorkflowOpen)
	}
	if cause == nil || ctx.Err() != nil {
		return cause
	}
	s.log.DebugContext(ctx, "state of a turn is not known", "turn_id", t.ID, "error", cause)
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		return tx.SetCheck(ctx, t.Tenant, t.ID, s.store.NowUs()+checkAgain.Microseconds(), t.Restarts)
	})
	if away && err == nil {
		return sweep.ErrStop
	}
	return ignoreMissing(err)
}

// recoverLost starts the workflow of a lost turn again, or ends the turn when that was done too often. A turn that is not lost is
// checked again later.
func (s *Service) recoverLost(ctx context.Context, seen store.Turn, lost bool) error {
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
	s.outbox.Trigger()
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

// ignoreMissing drops the error that a row does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
