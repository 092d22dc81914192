package sessions

import (
	"context"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/services/sessions/sweep"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// forgetEvery is how often expired idempotency keys are removed.
const forgetEvery = 10 * time.Minute

// sweep runs the background loops until ctx ends. Each has a goroutine of its own, so that none waits for what another one cannot reach.
func (s *Service) sweep(ctx context.Context) error {
	ctx = authn.With(ctx, authn.Service("sessions"))
	var loops sync.WaitGroup
	for _, run := range []func(context.Context){
		s.outbox.Run, s.keepDeltas, s.forget, s.workers.Run, s.webhooks.Run, s.eraser.Run,
		s.schedules.Run, s.events.Run, s.feed.Run,
	} {
		loops.Go(func() { run(ctx) })
	}
	for _, l := range []struct {
		wake <-chan struct{}
		run  func(context.Context) error
		name string
	}{
		{s.outbox.Lost(), s.turns.SweepLost, "lost turns"},
		{nil, s.waits.Sweep, "waits"},
		{nil, s.outbox.WakeDue, "wakes"},
		{nil, s.children.Sweep, "sub-agents"},
		{s.grants.Woken(), s.grants.Sweep, "grants"},
		{nil, s.sessions.Sweep, "deleted sessions"},
		{nil, s.indexer.Sweep, "search"},
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

// forget periodically removes what is old.
func (s *Service) forget(ctx context.Context) {
	tick := time.NewTicker(forgetEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.store.ForgetOnce(ctx, s.store.Now()); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "expired idempotency keys cannot be removed", "error", err)
		}
		if err := s.files.ForgetUploads(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "expired uploads cannot be deleted", "error", err)
		}
		if err := s.shares.Forget(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "expired shares cannot be removed", "error", err)
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
