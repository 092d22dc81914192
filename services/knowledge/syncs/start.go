package syncs

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/ids"
)

const (
	// openFactor is how many workflows may be open for each sync that can run, as for ingestions.
	openFactor = 8
	// dueAtOnce is how many syncs a sweep queues.
	dueAtOnce = 256
	// callTimeout bounds one call of the engine.
	callTimeout = 10 * time.Second
)

// Trigger has workflows started now for the syncs that wait.
func (s *Service) Trigger() {
	select {
	case s.now <- struct{}{}:
	default:
	}
}

// Run queues syncs whose time has come and starts workflows until ctx ends. It also finishes deletions that were interrupted.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "syncs not started; they are when the next sweep succeeds", "error", err)
		}
		select {
		case <-s.now:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (s *Service) sweep(ctx context.Context) error {
	_, err := s.deps.Store.QueueDue(ctx, s.deps.Store.Now(), dueAtOnce, func() string { return ids.New(ids.Sync) })
	return errors.Join(err, s.start(ctx), s.finishDeletions(ctx))
}

// start starts workflows of syncs that wait. If the process ends after a start, it is repeated, which does nothing.
func (s *Service) start(ctx context.Context) error {
	st := s.deps.Store
	list, err := st.StartableSyncs(ctx, st.Now().Add(-s.cfg.RestartAfter), openFactor*s.cfg.Concurrent)
	if err != nil {
		return err
	}
	for _, p := range list {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		err := s.deps.Engine.StartSync(call, p.Tenant, p.Sync)
		cancel()
		if err != nil {
			return err // the others wait too: the engine is away
		}
		if err := st.MarkSyncStarted(ctx, p, st.Now()); err != nil {
			return err
		}
	}
	return nil
}

// finishDeletions deletes what is left of sources that are being deleted.
func (s *Service) finishDeletions(ctx context.Context) error {
	list, err := s.deps.Store.DeletingSources(ctx, dueAtOnce)
	if err != nil {
		return err
	}
	for _, src := range list {
		if err := s.deps.Store.DropSource(ctx, src); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return nil
	}
	return s.deps.Store.Purge(ctx) // so that it is in no file either
}
