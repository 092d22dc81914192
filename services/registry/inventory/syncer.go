// Package inventory keeps the registry's idea of each source's tools up to date.
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
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// parallel bounds the looks at sources that run at the same time.
const parallel = 8

// Store is what the syncer reads and writes.
type Store interface {
	// Source reads one by id or name; store.ErrNotFound.
	Source(ctx context.Context, tenant, idOrName string) (store.Source, error)
	// AllSources returns the sources of all tenants.
	AllSources(ctx context.Context) ([]store.Source, error)
	// Unreachable notes that a look failed.
	Unreachable(ctx context.Context, s store.Source, why string) error
	// ApplyInventory writes what a look found; store.ErrChanged when the source changed meanwhile.
	ApplyInventory(ctx context.Context, s store.Source, found store.Inventory) (store.Diff, error)
	// Counts returns what can be reached now.
	Counts(ctx context.Context) (tools, sources int, err error)
}

// Upstream looks at sources.
type Upstream interface {
	// Discover looks at one. The error is a fault for its owner to read.
	Discover(ctx context.Context, s store.Source) (store.Inventory, error)
	// Watch tells of things that happen to servers until the stream breaks.
	Watch(ctx context.Context, on func(serverID, kind string)) error
}

// Config holds times.
type Config struct {
	// Every is the time between two looks at a source.
	Every time.Duration
	// FirstRetry is the pause after a failed look; it doubles up to Every. 0 = 1 s.
	FirstRetry time.Duration
}

func (c Config) retries() backoff.Policy { return backoff.Policy{First: c.FirstRetry, Max: c.Every} }

// Syncer looks at sources. Safe for concurrent use.
type Syncer struct {
	cfg       Config
	store     Store
	upstream  Upstream
	available func(ctx context.Context, tools, sources int)
	now       func() time.Time
	log       *slog.Logger
	looks     singleflight.Group
	plan      *plan
	looking   looking
	ticks     atomic.Uint64   // puts wishes and the beginnings of looks in order
	newest    sync.Map        // id of a source -> ended, its last look
	base      context.Context // ends all looks
	cancel    context.CancelCauseFunc
}

// New makes a syncer; available is told what can be reached after each look, now is the clock of the times it stores.
func New(cfg Config, st Store, up Upstream, available func(ctx context.Context, tools, sources int), now func() time.Time, log *slog.Logger) *Syncer {
	if cfg.FirstRetry <= 0 {
		cfg.FirstRetry = time.Second
	}
	s := &Syncer{cfg: cfg, store: st, upstream: up, available: available, now: now, log: log, plan: newPlan(cfg)}
	s.base, s.cancel = context.WithCancelCause(context.Background())
	return s
}

func errStopping() error {
	return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "the registry is stopping").RetryAfter(time.Second)
}

// Sync looks at the source now, or joins a look at this revision of it that is under way. The look is not bound to one
// caller's patience: it goes on when ctx ends. The error is a fault (UNAVAILABLE/TOOL_UNAVAILABLE, …), or
// store.ErrChanged when the source was changed or deleted meanwhile.
func (s *Syncer) Sync(ctx context.Context, src store.Source) (store.Diff, error) {
	diff, _, err := s.join(ctx, src, s.ticks.Add(1))
	return diff, err
}

// SyncAnew is Sync by a look that begins after the call: one that is under way may have read the source before what the caller wants seen.
// It is waited for, and what it found counts where the new look finds nothing more.
func (s *Syncer) SyncAnew(ctx context.Context, src store.Source) (store.Diff, error) {
	asked := s.ticks.Add(1)
	before, after, err := s.join(ctx, src, asked)
	if after || ctx.Err() != nil {
		return before, err
	}
	diff, _, err := s.join(ctx, src, asked) // this one, ours or another's, began after the first had ended
	if err == nil && len(diff.Added)+len(diff.Removed)+len(diff.Changed) == 0 {
		diff.Added, diff.Removed, diff.Changed = before.Added, before.Removed, before.Changed
	}
	return diff, err
}

// ended is a look at a source that has ended.
type ended struct {
	revision uint32
	began    uint64
	diff     store.Diff
	err      error
}

// join looks at a source, or waits for a look at it that is under way, and tells whether that began after asked. One that both began and
// ended since serves too, so that many wishes are one look.
func (s *Syncer) join(ctx context.Context, src store.Source, asked uint64) (_ store.Diff, after bool, _ error) {
	answer := s.looks.DoChan(fmt.Sprintf("%s@%d", src.ID, src.Revision), func() (any, error) {
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

// apart runs a look that only the end of the syncer ends.
func (s *Syncer) apart(ctx context.Context, src store.Source) (store.Diff, error) {
	if !s.looking.enter() {
		return store.Diff{}, errStopping()
	}
	defer s.looking.leave()
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	unlink := context.AfterFunc(s.base, cancel)
	defer unlink()
	s.plan.begin(src)
	diff, err := s.look(ctx, src)
	s.plan.end(src, err)
	if err != nil && ctx.Err() != nil {
		return store.Diff{}, errStopping()
	}
	return diff, err
}

func (s *Syncer) look(ctx context.Context, src store.Source) (store.Diff, error) {
	found, err := s.upstream.Discover(ctx, src)
	if err != nil && ctx.Err() != nil {
		return store.Diff{}, err // we are stopping: that says nothing about the source
	}
	if err != nil {
		return store.Diff{}, s.failed(ctx, src, err)
	}
	found.Time = s.now()
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
	s.count(ctx)
	return diff, nil
}

// failed notes that a look failed; what is a fault of ours keeps its text out of what people see.
func (s *Syncer) failed(ctx context.Context, src store.Source, err error) error {
	why := "internal error, see the registry's log"
	if f := fault.As(err); f != nil {
		why = f.Message
	}
	level := slog.LevelDebug
	if src.State != store.Unreachable { // once per failure, not once per look
		level = slog.LevelWarn
	}
	s.log.Log(ctx, level, "source cannot be reached", "source", src.Name, "error", err)
	if noted := s.store.Unreachable(ctx, src, why); noted != nil {
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

// Soon asks for a look at a source because a call or the bridge says that something is wrong with it. Many wishes are one
// look, and one that waits for its retry after a failure is not hurried.
func (s *Syncer) Soon(src store.Source) { s.plan.soon(src.ID, false) }

// Forget drops a source that was deleted or switched off from the plan.
func (s *Syncer) Forget(src store.Source) { s.forget(src.ID) }

func (s *Syncer) forget(id string) {
	s.plan.forget(id)
	s.newest.Delete(id)
}
