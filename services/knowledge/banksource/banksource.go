// Package banksource keeps the sources of banks for callers.
package banksource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// minInterval is the shortest pause between two syncs.
const minInterval = 5 * time.Second

// Deps are what sources need; all are required.
type Deps struct {
	// Store has them.
	Store *store.Store
	// Access reads banks for callers.
	Access access.Reader
	// Kinds checks sources, by the names of their kinds.
	Kinds map[string]source.Kind
	// Limit is the maximum number of sources of a tenant.
	Limit int
	// Queued is called after a sync was queued.
	Queued func()
	// Log gets what went wrong after an answer.
	Log *slog.Logger
}

// Service keeps sources. It is safe for concurrent use.
type Service struct{ Deps }

// New returns the service.
func New(deps Deps) *Service { return &Service{deps} }

// Create adds a source to a bank that the caller may read, and queues its first sync.
func (s *Service) Create(ctx context.Context, bank string, spec store.SourceSpec) (store.Source, error) {
	b, scope, err := s.Access.Bank(ctx, bank)
	if err != nil {
		return store.Source{}, err
	}
	kind, ok := s.Kinds[spec.Kind]
	switch {
	case !ok:
		return store.Source{}, fault.Invalid("source.kind", "is not one of %s", strings.Join(slices.Sorted(maps.Keys(s.Kinds)), ", "))
	case spec.Interval > 0 && spec.Interval < minInterval:
		return store.Source{}, fault.Invalid("source.interval_seconds", "is neither 0 nor at least %d", int(minInterval.Seconds()))
	}
	if err := errors.Join(kind.Check(spec), scope.CheckLabels(spec.Labels)); err != nil {
		return store.Source{}, err
	}
	src := store.Source{
		Tenant: b.Tenant, ID: ids.New(ids.BankSource), Bank: b.ID, Subject: authn.From(ctx).GetSubject(), Spec: spec, State: store.SyncQueued,
		Sync: ids.New(ids.Sync), CreateTime: s.Store.Now(),
	}
	if _, ok := kind.(source.Personal); ok {
		if src.Principal, err = proto.Marshal(authn.From(ctx)); err != nil {
			return store.Source{}, fmt.Errorf("principal: %w", err)
		}
	}
	err = s.Store.CreateSource(ctx, src, s.Limit)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return src, access.NoBank(bank)
	case errors.Is(err, store.ErrTooMany):
		return src, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED,
			"there are %d sources, as many as there may be", s.Limit).Hint("Delete one, or raise knowledge.max_sources.")
	case err == nil:
		s.Queued()
	}
	return src, err
}

// Get returns a source of a bank that the caller may read.
func (s *Service) Get(ctx context.Context, bank, id string) (store.Source, error) {
	return s.with(ctx, bank, id, s.Store.Source)
}

// List returns at most limit sources of a bank that the caller may read, whose id is after the given one, oldest first. It leaves out those
// with a label that the caller may not read.
func (s *Service) List(ctx context.Context, bank, after string, limit int) ([]store.Source, error) {
	b, scope, err := s.Access.Bank(ctx, bank)
	if err != nil {
		return nil, err
	}
	var out []store.Source
	for {
		part, err := s.Store.Sources(ctx, b.Tenant, b.ID, after, limit)
		if err != nil {
			return nil, err
		}
		for _, src := range part {
			if readable(scope, src) && len(out) < limit {
				out = append(out, src)
			}
		}
		if len(part) < limit || len(out) == limit {
			return out, nil
		}
		after = part[len(part)-1].ID
	}
}

// Sync queues a sync, unless one is queued or runs.
func (s *Service) Sync(ctx context.Context, bank, id string) (store.Source, error) {
	out, err := s.with(ctx, bank, id, func(ctx context.Context, tenant, bank, id string) (store.Source, error) {
		return s.Store.QueueSync(ctx, tenant, bank, id, ids.New(ids.Sync))
	})
	if err == nil {
		s.Queued()
	}
	return out, err
}

// Pause keeps syncs from running, or lets them run again.
func (s *Service) Pause(ctx context.Context, bank, id string, paused bool) (store.Source, error) {
	out, err := s.with(ctx, bank, id, func(ctx context.Context, tenant, bank, id string) (store.Source, error) {
		return s.Store.PauseSource(ctx, tenant, bank, id, paused)
	})
	if err == nil {
		s.Queued()
	}
	return out, err
}

// with calls f for a source that the caller may read.
func (s *Service) with(ctx context.Context, bank, id string,
	f func(ctx context.Context, tenant, bank, id string) (store.Source, error),
) (store.Source, error) {
	b, scope, err := s.Access.Bank(ctx, bank)
	if err != nil {
		return store.Source{}, err
	}
	if strings.ContainsRune(id, 0) { // PostgreSQL cannot hold it
		return store.Source{}, noSource(id)
	}
	out, err := s.Store.Source(ctx, b.Tenant, b.ID, id) // its labels never change
	if err == nil && !readable(scope, out) {
		return store.Source{}, noSource(id)
	}
	if err == nil {
		out, err = f(ctx, b.Tenant, b.ID, id)
	}
	if errors.Is(err, store.ErrNotFound) {
		err = noSource(id)
	}
	return out, err
}

// Delete deletes a source with its documents.
func (s *Service) Delete(ctx context.Context, bank, id string) error {
	src, err := s.with(ctx, bank, id, s.Store.MarkDeleting)
	if err != nil {
		return err
	}
	if err := s.Store.DropSource(ctx, src); err != nil {
		return err
	}
	if err := s.Store.Purge(ctx); err != nil { // the next one does it as well
		s.Log.WarnContext(ctx, "what was deleted is still in the log of the database", "source", src.ID, "error", err)
	}
	return nil
}

// readable reports whether a caller may read all labels of a source. Other sources do not exist for it, as documents do not.
func readable(scope access.Scope, src store.Source) bool {
	return scope.CheckLabels(src.Spec.Labels) == nil
}

func noSource(id string) error {
	return fault.NotFound("source %q does not exist", strings.ReplaceAll(id, "\x00", ""))
}
