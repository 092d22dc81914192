package ingest

import (
	"context"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// openFactor is how many workflows may be open for each ingestion that can run: enough that none waits for the next start, and few
	// enough that turns find room on their workers.
	openFactor = 8
	// maxCancels bounds the cancels that wait to be sent.
	maxCancels = 256
	// callTimeout bounds one call of the engine.
	callTimeout = 10 * time.Second
)

// Trigger has workflows started now for the versions that wait.
func (s *Service) Trigger() {
	select {
	case s.now <- struct{}{}:
	default:
	}
}

// Run starts and cancels workflows until ctx ends. It also starts those again that seem to be gone.
func (s *Service) Run(ctx context.Context) {
	var loops sync.WaitGroup
	loops.Go(func() { s.sendCancels(ctx) })
	defer loops.Wait()
	tick := time.NewTicker(s.cfg.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := s.start(ctx); err != nil && ctx.Err() == nil {
			s.deps.Log.WarnContext(ctx, "ingestions not started; they are when the next sweep succeeds", "error", err)
		}
		select {
		case <-s.now:
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// start starts workflows of versions that wait. After an error the others wait too: the engine or the database is away.
func (s *Service) start(ctx context.Context) error {
	st := s.deps.Store
	list, err := st.Startable(ctx, st.Now().Add(-s.cfg.RestartAfter), openFactor*s.cfg.Concurrent)
	if err != nil {
		return err
	}
	for _, p := range list {
		if err := s.startOne(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// startOne starts a workflow and notes that. If the process ends between the two, the start is repeated, which does nothing.
func (s *Service) startOne(ctx context.Context, p store.Pending) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := s.deps.Engine.Start(call, p.Tenant, p.Version); err != nil {
		return err
	}
	return s.deps.Store.MarkStarted(ctx, p, s.deps.Store.Now())
}

func (s *Service) sendCancels(ctx context.Context) {
	for {
		select {
		case version := <-s.cancels:
			call, cancel := context.WithTimeout(ctx, callTimeout)
			if err := s.deps.Engine.Cancel(call, version); err != nil && ctx.Err() == nil {
				s.deps.Log.WarnContext(ctx, "workflow of an ingestion not cancelled; it ends without a change", "version", version, "error", err)
			}
			cancel()
		case <-ctx.Done():
			return
		}
	}
}
