package inventory

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/lane"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Run syncs all sources at once and then on schedule, and follows the bridge's events, until ctx ends; then it waits for running syncs and
// returns nil.
func (s *Syncer) Run(ctx context.Context) error {
	unlink := context.AfterFunc(ctx, s.inFlight.stop)
	defer unlink()
	var both errgroup.Group
	both.Go(func() error { s.loop(ctx); return nil })
	both.Go(func() error { s.watch(ctx); return nil })
	err := both.Wait()
	s.inFlight.close()
	return err
}

func (s *Syncer) loop(ctx context.Context) {
	syncs := lane.New(lane.Config{Size: parallel, Beside: parallelSlow, Patience: syncPatience, Free: s.plan.room})
	defer syncs.Wait()
	tick := time.NewTicker(min(s.cfg.FirstRetry, s.cfg.Every))
	defer tick.Stop()
	var round time.Time // when the sources are listed next
	for {
		now := time.Now()
		if !now.Before(round) {
			round = now.Add(s.cfg.Every)
			s.learn(ctx)
		}
		for id, tenant := range s.plan.take(now) {
			if !syncs.TryGo(func() { s.visit(ctx, tenant, id) }) {
				s.plan.postpone(id, now) // all workers are busy; retry when one is free
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.plan.wake:
		}
	}
}

func (s *Syncer) learn(ctx context.Context) {
	sources, err := s.store.AllSources(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.WarnContext(ctx, "sources could not be listed", "error", err)
		}
		return
	}
	s.plan.know(sources)
}

// visit reads the present source and syncs it.
func (s *Syncer) visit(ctx context.Context, tenant, id string) {
	src, err := s.store.Source(ctx, tenant, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		s.forget(id)
	case err != nil && ctx.Err() == nil:
		s.log.WarnContext(ctx, "source could not be read", "source_id", id, "error", err)
	case err == nil && !src.Disabled:
		_, _ = s.Sync(ctx, src) // a failed sync is logged and rescheduled there
	}
}

// watch follows the bridge's events, and reconnects when the stream breaks.
func (s *Syncer) watch(ctx context.Context) {
	pauses := s.cfg.retries().Start()
	for {
		begin := time.Now()
		err := s.upstream.Watch(ctx, s.event)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begin) > time.Minute {
			pauses.Reset()
		}
		s.log.DebugContext(ctx, "watch of the bridge was interrupted", "error", err)
		if pauses.Wait(ctx) != nil {
			return
		}
	}
}

func (s *Syncer) event(serverID string, change mcpbridgev1.ServerChange) {
	switch change {
	case mcpbridgev1.ServerChange_SERVER_CHANGE_TOOLS_CHANGED:
		s.plan.soon(serverID, true)
	case mcpbridgev1.ServerChange_SERVER_CHANGE_CONNECTED:
		s.plan.connected(serverID)
	}
}
