// Package inventory syncs each source's tools into the registry.
package inventory

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// parallel limits concurrent syncs, and parallelSlow those beside them that take longer than syncPatience: sources that do not answer must
// not delay those that do.
const (
	parallel     = 8
	parallelSlow = 64
	syncPatience = time.Second
)

// Store is the part of the store that the syncer uses.
type Store interface {
	// Source reads a source by id or name; store.ErrNotFound.
	Source(ctx context.Context, tenant, idOrName string) (store.Source, error)
	// AllSources returns the sources of all tenants.
	AllSources(ctx context.Context) ([]store.Source, error)
	// SyncFailed records that a sync failed, and in which state the source is now.
	SyncFailed(ctx context.Context, s store.Source, state, why string) error
	// ApplyInventory writes the result of a sync; store.ErrChanged if the source changed meanwhile.
	ApplyInventory(ctx context.Context, s store.Source, found store.Inventory) (store.Diff, error)
	// Counts returns what is reachable now.
	Counts(ctx context.Context) (tools, sources int, err error)
}

// Upstream discovers the tools of sources.
type Upstream interface {
	// Discover lists a source's tools. The error is a fault for the source's owner.
	Discover(ctx context.Context, s store.Source) (store.Inventory, error)
	// Watch reports events of servers until the stream breaks.
	Watch(ctx context.Context, on func(serverID string, change mcpbridgev1.ServerChange)) error
}

// Config holds intervals.
type Config struct {
	// Every is the interval between syncs of a source.
	Every time.Duration
	// FirstRetry is the pause after a failed sync; it doubles up to Every.
	FirstRetry time.Duration `default:"1s"`
}

func (c Config) retries() backoff.Policy { return backoff.Policy{First: c.FirstRetry, Max: c.Every} }

// Syncer syncs sources. It is safe for concurrent use.
type Syncer struct {
	cfg       Config
	store     Store
	upstream  Upstream
	available func(ctx context.Context, tools, sources int)
	now       func() time.Time
	log       *slog.Logger
	syncs     singleflight.Group
	plan      *plan
	inFlight  inFlight
	ticks     atomic.Uint64 // orders requests and the starts of syncs
	newest    sync.Map      // id of a source -> ended, its last sync
}

// New returns a syncer. available is called after each sync with what is reachable; now is the clock of stored times.
func New(cfg Config, st Store, up Upstream, available func(ctx context.Context, tools, sources int), now func() time.Time,
	log *slog.Logger,
) *Syncer {
	config.Fill(&cfg)
	return &Syncer{cfg: cfg, store: st, upstream: up, available: available, now: now, log: log, plan: newPlan(cfg)}
}

func errStopping() error {
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the registry is stopping").RetryAfter(time.Second)
}

// Sync syncs the source now, or joins a running sync of this revision. The sync continues when ctx ends. The error is a fault
// (UNAVAILABLE/TOOL_UNAVAILABLE, …), or store.ErrChanged if the source was changed or deleted meanwhile.
func (s *Syncer) Sync(ctx context.Context, src store.Source) (store.Diff, error) {
	diff, _, err := s.join(ctx, src, s.ticks.Add(1))
	return diff, err
}

// SyncFresh is Sync with a sync that begins after the call: a running one may have read the source before the change that the caller wants
// to see. It waits for the running one, whose result counts if the new sync finds nothing more.
func (s *Syncer) SyncFresh(ctx context.Context, src store.Source) (store.Diff, error) {
	asked := s.ticks.Add(1)
	before, after, err := s.join(ctx, src, asked)
	if after || ctx.Err() != nil {
		return before, err
	}
	diff, _, err := s.join(ctx, src, asked) // a sync by us or another caller that began after the first had ended
	if err == nil && len(diff.Added)+len(diff.Removed)+len(diff.Changed)+len(diff.Drifted) == 0 {
		diff.Added, diff.Removed, diff.Changed, diff.Drifted = before.Added, before.Removed, before.Changed, before.Drifted
	}
	return diff, err
}

// ended is a finished sync of a source.
type ended struct {
	revision uint32
	began    uint64
	diff     store.Diff
	err      error
}

// join syncs a source or waits for a running sync, and reports whether that began after asked. One that began and ended since also
// qualifies, so that many requests share one sync.
func (s *Syncer) join(ctx context.Context, src store.Source, asked uint64) (_ store.Diff, after bool, _ error) {
	answer := s.syncs.DoChan(fmt.Sprintf("%s@%d", src.ID, src.Revision), func() (any, error) {
		if known, ok := s.newest.Load(src.ID); ok && known.(ended).revision == src.Revision && known.(ended).began > asked {
			return known, nil
		}
		l := ended{revision: src.Revision, began: s.ticks.Add(1)}
		l.diff, l.err = s.apart(ctx, src)
		s.newest.Store(src.ID, l)
		return l, nil
	})
	select {
	case r := <-answer:
		l := r.Val.(ended)
		return l.diff, l.began > asked, l.err
	case <-ctx.Done():
		return store.Diff{}, false, ctx.Err()
	}
}

// apart runs a sync that ends only when the syncer stops.
func (s *Syncer) apart(ctx context.Context, src store.Source) (store.Diff, error) {
	ctx, leave, ok := s.inFlight.enter(ctx)
	if !ok {
		return store.Diff{}, errStopping()
	}
	defer leave()
	s.plan.begin(src)
	diff, err := s.syncOnce(ctx, src)
	s.plan.end(src, err)
	if err != nil && ctx.Err() != nil {
		return store.Diff{}, errStopping()
	}
	return diff, err
}

func (s *Syncer) syncOnce(ctx context.Context, src store.Source) (store.Diff, error) {
	found, err := s.upstream.Discover(ctx, src)
	if err != nil && ctx.Err() != nil {
		return store.Diff{}, err // we are stopping: that says nothing about the source
	}
	if err != nil {
		return store.Diff{}, s.failed(ctx, src, err)
	}
	found.Time = s.now()
	clean(src, &found)
	diff, err := s.store.ApplyInventory(ctx, src, found)
	if errors.Is(err, store.ErrChanged) {
		return store.Diff{}, err
	}
	if err != nil {
		return store.Diff{}, s.failed(ctx, src, fmt.Errorf("store inventory: %w", err))
	}
	if len(diff.Added)+len(diff.Removed)+len(diff.Changed) > 0 || src.State != store.Ready {
		s.log.InfoContext(ctx, "source synced", "source", src.Name, "tools", diff.Total,
			"added", len(diff.Added), "removed", len(diff.Removed), "changed", len(diff.Changed))
	}
	if len(diff.Drifted) > 0 {
		s.log.WarnContext(ctx, "changed definitions of tools are held back until they are accepted", "source", src.Name, "tools", diff.Drifted)
	}
	s.count(ctx)
	return diff, nil
}

// failed records that a sync failed; people do not see the text of internal errors.
func (s *Syncer) failed(ctx context.Context, src store.Source, err error) error {
	state, why := store.Unreachable, "internal error, see the registry's log"
	if f := fault.As(err); f != nil {
		why = f.Message
		if f.Details[source.DetailState] == store.Invalid {
			state = store.Invalid
		}
	}
	level := slog.LevelDebug
	if src.State != state { // once per outage, not once per sync
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "source cannot be synced", "source", src.Name, "state", state, "error", err)
	if noted := s.store.SyncFailed(ctx, src, state, why); noted != nil {
		s.log.ErrorContext(ctx, "state of source was not stored", "source", src.Name, "error", noted)
	}
	s.count(ctx)
	return err
}

func (s *Syncer) count(ctx context.Context) {
	tools, sources, err := s.store.Counts(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "tools were not counted", "error", err)
		return
	}
	s.available(ctx, tools, sources)
}

// Soon requests a sync of a source because a call or the bridge reports a problem with it. Many requests share one sync, and a source
// waiting for its retry after a failure is not hurried.
func (s *Syncer) Soon(src store.Source) { s.plan.soon(src.ID, false) }

// Forget removes a source that was deleted or disabled from the plan.
func (s *Syncer) Forget(src store.Source) { s.forget(src.ID) }

func (s *Syncer) forget(id string) {
	s.plan.forget(id)
	s.newest.Delete(id)
}
