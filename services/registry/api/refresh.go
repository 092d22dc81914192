package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

const (
	// refreshAtOnce limits the concurrent syncs of one RefreshTools.
	refreshAtOnce = 64
	// refreshTimeout bounds how long RefreshTools waits for one source.
	refreshTimeout = 10 * time.Second
)

// RefreshTools implements ToolService.
func (s *Tools) RefreshTools(ctx context.Context, _ *registryv1.RefreshToolsRequest) (*registryv1.SyncResult, error) {
	var (
		mu    sync.Mutex
		total = &registryv1.SyncResult{}
		g     errgroup.Group
		after string
	)
	g.SetLimit(refreshAtOnce)
	for {
		part, err := s.store.Sources(ctx, authn.Tenant(ctx), after, namesAtOnce)
		if err != nil {
			return nil, fmt.Errorf("list sources: %w", err)
		}
		for _, src := range part {
			after = src.Name
			if src.Disabled {
				continue
			}
			g.Go(func() error {
				diff, err := s.refresh(ctx, src)
				mu.Lock()
				defer mu.Unlock()
				return addDiff(total, src, diff, err)
			})
		}
		if len(part) < namesAtOnce {
			break
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, names := range [][]string{total.Added, total.Removed, total.Changed, total.Drifted, total.Failed} {
		slices.Sort(names)
	}
	return total, nil
}

// refresh syncs one of many sources. One that does not answer in time is reported as failed; its sync continues.
func (s *Tools) refresh(ctx context.Context, src store.Source) (store.Diff, error) {
	waiting, cancel := context.WithTimeout(ctx, refreshTimeout)
	defer cancel()
	diff, err := s.syncer.SyncFresh(waiting, src)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "no answer within %s; the sync goes on", refreshTimeout)
	}
	return diff, err
}

// addDiff adds the result of one sync. The tools of a source that failed count unchanged.
func addDiff(total *registryv1.SyncResult, src store.Source, d store.Diff, err error) error {
	switch {
	case errors.Is(err, store.ErrChanged):
		return nil // somebody else syncs the new revision
	case err != nil:
		f := fault.As(err)
		if f == nil {
			return err
		}
		total.Failed = append(total.Failed, src.Name+": "+f.Message)
		total.Total += uint32(src.ToolCount)
		return nil
	}
	total.Added, total.Removed = append(total.Added, d.Added...), append(total.Removed, d.Removed...)
	total.Changed, total.Drifted = append(total.Changed, d.Changed...), append(total.Drifted, d.Drifted...)
	total.Total += uint32(d.Total)
	return nil
}
