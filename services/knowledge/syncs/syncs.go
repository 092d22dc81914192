// Package syncs makes banks follow their sources: it starts a workflow for each sync, and does what the workflow asks for.
//
// A sync that is queued or runs is the record of what is to be done, and each item is stored together with its document in one transaction.
// So a sync may be killed anywhere: the next attempt finds the items that are stored unchanged, and does the rest.
package syncs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// maxAttempts is how often a sync is begun that ends without an outcome.
	maxAttempts = 8
	// releaseTimeout bounds the note that an attempt was stopped.
	releaseTimeout = 5 * time.Second
)

// Problems of syncs, for people.
const (
	problemInterrupted = "The sync was interrupted several times; the log of the knowledge service has the reason."
	problemUnknown     = "The source cannot be read; the log of the knowledge service has the reason."
)

// Outcome is how a sync ended.
type Outcome string

// Outcomes of a sync.
const (
	// Synced banks have what their source had.
	Synced Outcome = "synced"
	// Failed syncs could not read their source.
	Failed Outcome = "failed"
	// Paused syncs begin again when their source is resumed.
	Paused Outcome = "paused"
	// Superseded ones have a successor, or their source was deleted.
	Superseded Outcome = "superseded"
)

// Store is the part of *store.Store that syncs use.
type Store interface {
	// Now, and what follows, is as in *store.Store.
	Now() time.Time
	BeginSync(ctx context.Context, p store.PendingSync) (store.Source, int, error)
	ReleaseSync(ctx context.Context, p store.PendingSync) error
	SetProgress(ctx context.Context, p store.PendingSync, progress store.Progress) error
	FinishSync(ctx context.Context, p store.PendingSync, r store.SyncResult) error
	Items(ctx context.Context, src store.Source) ([]store.Item, error)
	PutItem(ctx context.Context, p store.PendingSync, bank string, put store.Put, item store.Item, at store.Progress) (store.Document, error)
	DropItem(ctx context.Context, p store.PendingSync, bank string, item store.Item, at store.Progress) error
	StartableSyncs(ctx context.Context, before time.Time, open int) ([]store.PendingSync, error)
	MarkSyncStarted(ctx context.Context, p store.PendingSync, at time.Time) error
	QueueDue(ctx context.Context, at time.Time, limit int, newID func() string) (int, error)
	DeletingSources(ctx context.Context, limit int) ([]store.Source, error)
	DropSource(ctx context.Context, src store.Source) error
	Purge(ctx context.Context) error
}

// Engine runs the workflows of syncs. Implementations are safe for concurrent use.
type Engine interface {
	// StartSync starts a sync's workflow. It succeeds when the workflow is running.
	StartSync(ctx context.Context, tenant, sync string) error
}

// Config bounds syncs. All fields are required.
type Config struct {
	// Concurrent is how many syncs this process runs at the same time.
	Concurrent int
	// Interval is the time between two sweeps.
	Interval time.Duration
	// RestartAfter is how long after its start a workflow may be without an outcome until it is started again, in case it is gone.
	RestartAfter time.Duration
	// MaxItems is the maximum number of items of a source, MaxBytes the size of one, and MaxDocuments the number of documents of a tenant.
	MaxItems     int
	MaxBytes     int64
	MaxDocuments int
}

// Deps are what the service works with. All are required.
type Deps struct {
	// Store has the sources.
	Store Store
	// Kinds reads them, by the names of their kinds.
	Kinds map[string]source.Kind
	// Engine runs workflows.
	Engine Engine
	// MediaType returns the media type of content, by its name, the declared type and the content, or a fault.
	MediaType func(name, declared string, data []byte) (string, error)
	// Labels returns the labels that content of a media type brings in its front matter; a fault if they cannot be read.
	Labels func(mediaType string, data []byte) ([]string, error)
	// Queued is called after documents were queued to be ingested.
	Queued func()
	// Log receives what no caller gets.
	Log *slog.Logger
}

// Service runs syncs. It is safe for concurrent use.
type Service struct {
	cfg   Config
	deps  Deps
	slots chan struct{}
	now   chan struct{}
}

// New returns a service. It starts no workflows before Run.
func New(cfg Config, deps Deps) (*Service, error) {
	switch {
	case cfg.Concurrent <= 0, cfg.Interval <= 0, cfg.RestartAfter <= 0, cfg.MaxItems <= 0, cfg.MaxBytes <= 0, cfg.MaxDocuments <= 0:
		return nil, errors.New("syncs: all of Config must be positive")
	case deps.Store == nil, deps.Kinds == nil, deps.Engine == nil, deps.MediaType == nil, deps.Labels == nil, deps.Queued == nil,
		deps.Log == nil:
		return nil, errors.New("syncs: all of Deps are required")
	}
	return &Service{cfg: cfg, deps: deps, slots: make(chan struct{}, cfg.Concurrent), now: make(chan struct{}, 1)}, nil
}

// Sync runs a sync and returns how it ended. It waits while Config.Concurrent others run. An error means that there is no outcome yet.
func (s *Service) Sync(ctx context.Context, tenant, id string) (Outcome, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait for sync %s: %w", id, ctx.Err())
	}
	p := store.PendingSync{Tenant: tenant, Sync: id}
	src, attempts, err := s.deps.Store.BeginSync(ctx, p)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case errors.Is(err, store.ErrPaused):
		return Paused, nil
	case err != nil:
		return "", fmt.Errorf("begin sync %s: %w", id, err)
	case attempts > maxAttempts:
		return s.finish(ctx, p, store.SyncResult{State: store.SyncFailed, Problem: problemInterrupted, Progress: src.Progress})
	}
	return s.attempt(ctx, p, src)
}

// attempt runs a sync that has begun.
func (s *Service) attempt(ctx context.Context, p store.PendingSync, src store.Source) (Outcome, error) {
	v, err := s.read(ctx, p, src)
	if unreadable, ok := errors.AsType[*source.UnreadableError](err); ok {
		return s.finish(ctx, p, v.result(store.SyncFailed, unreadable.Reason))
	}
	switch {
	case err == nil:
		return s.finish(ctx, p, v.result(store.Synced, ""))
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case errors.Is(err, store.ErrPaused):
		return s.pause(ctx, p)
	case ctx.Err() != nil, fault.Is(err, faultv1.Reason_REASON_UNAVAILABLE): // not because of the source
		s.release(ctx, p)
	}
	return "", fmt.Errorf("sync %s: %w", p.Sync, err)
}

// read makes the bank follow the source.
func (s *Service) read(ctx context.Context, p store.PendingSync, src store.Source) (*visitor, error) {
	v := &visitor{Service: s, pending: p, src: src, progress: src.Progress, seen: map[string]bool{}, known: map[string]store.Item{}}
	v.begin()
	kind, ok := s.deps.Kinds[src.Spec.Kind]
	if !ok {
		return v, source.Unreadable("There is no kind %q in this version.", src.Spec.Kind)
	}
	items, err := s.deps.Store.Items(ctx, src)
	if err != nil {
		return v, err
	}
	for _, item := range items {
		v.known[item.Key] = item
	}
	as, err := readAs(ctx, src)
	if err != nil {
		return v, err
	}
	if err := kind.Read(as, src.Spec, v); err != nil {
		return v, v.classify(ctx, err)
	}
	if err := v.dropVanished(ctx); err != nil {
		return v, err
	}
	if v.progress.Removed > 0 {
		if err := s.deps.Store.Purge(ctx); err != nil { // the next one does it as well
			s.deps.Log.WarnContext(ctx, "what was deleted is still in the log of the database", "source", src.ID, "error", err)
		}
	}
	return v, nil
}

// readAs returns a context in which a source is read: as the user who created it, if it is of a kind that needs one.
func readAs(ctx context.Context, src store.Source) (context.Context, error) {
	if len(src.Principal) == 0 {
		return ctx, nil
	}
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(src.Principal, p); err != nil {
		return ctx, fmt.Errorf("principal of source %s: %w", src.ID, err)
	}
	return authn.With(ctx, p), nil
}

func (s *Service) finish(ctx context.Context, p store.PendingSync, r store.SyncResult) (Outcome, error) {
	r.Time = s.deps.Store.Now()
	err := s.deps.Store.FinishSync(ctx, p, r)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case err != nil:
		return "", fmt.Errorf("finish sync %s: %w", p.Sync, err)
	case r.State == store.SyncFailed:
		return Failed, nil
	}
	return Synced, nil
}

// pause has a sync wait whose source was paused while it ran.
func (s *Service) pause(ctx context.Context, p store.PendingSync) (Outcome, error) {
	_, _, err := s.deps.Store.BeginSync(ctx, p)
	switch {
	case errors.Is(err, store.ErrPaused):
		return Paused, nil
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case err == nil:
		err = errors.New("the source was resumed")
	}
	return "", fmt.Errorf("pause sync %s: %w", p.Sync, err)
}

// release takes back an attempt that ended for a reason outside the source.
func (s *Service) release(ctx context.Context, p store.PendingSync) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.deps.Store.ReleaseSync(ctx, p); err != nil {
		s.deps.Log.WarnContext(ctx, "attempt of a sync not taken back", "sync", p.Sync, "error", err)
	}
}
