package route

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/services/inference/store"
)

const (
	// tenantsKept limits the tenants whose compiled routes are in memory.
	tenantsKept = 1024
	// readTimeout bounds a read of the database: the routes that were read last are better than none.
	readTimeout = 2 * time.Second
)

// Reader reads the routes of tenants and their revision.
type Reader interface {
	Revision(ctx context.Context, tenant string) (uint64, error)
	Snapshot(ctx context.Context, tenant string) (store.Snapshot, error)
}

// tables holds the compiled routes of tenants. The revision in the database says whether they are still the present ones, so that a change
// applies to the next turn in every process. It is safe for concurrent use.
type tables struct {
	configured *Table
	stored     Reader // nil = only configured
	log        *slog.Logger
	held       *lru.Cache[string, heldTable]
	loading    singleflight.Group
}

// heldTable is a table, and the revision of the tenant's routes in it.
type heldTable struct {
	*Table

	revision uint64
}

func newTables(configured *Table, deps Deps) (*tables, error) {
	held, err := lru.New[string, heldTable](tenantsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of routes: %w", err)
	}
	return &tables{configured: configured, stored: deps.Stored, log: deps.Log, held: held}, nil
}

// of returns the table of a tenant.
func (s *tables) of(ctx context.Context, tenant string) (*Table, error) {
	if s.stored == nil {
		return s.configured, nil
	}
	table, err := s.current(ctx, tenant)
	if err == nil {
		return table, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	known, ok := s.held.Get(tenant)
	if !ok {
		return nil, fmt.Errorf("read the routes of the tenant: %w", err)
	}
	s.log.WarnContext(ctx, "routes cannot be read; those that were read last apply", "tenant", tenant, "error", err)
	return known.Table, nil
}

// current returns the table with every change that was committed before the call.
func (s *tables) current(ctx context.Context, tenant string) (*Table, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	revision, err := s.stored.Revision(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if known, ok := s.held.Get(tenant); ok && known.revision >= revision {
		return known.Table, nil
	}
	return s.load(ctx, tenant, revision)
}

// load reads and compiles the routes of a tenant. Callers that have seen the same revision share the work.
func (s *tables) load(ctx context.Context, tenant string, revision uint64) (*Table, error) {
	answer := s.loading.DoChan(fmt.Sprintf("%d %s", revision, tenant), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		return s.read(ctx, tenant)
	})
	select {
	case r := <-answer:
		table, ok := r.Val.(*Table)
		if r.Err == nil && !ok {
			return nil, errors.New("route: foreign value in the singleflight group")
		}
		return table, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read returns the routes of a tenant as they are now, and holds them.
func (s *tables) read(ctx context.Context, tenant string) (*Table, error) {
	snapshot, err := s.stored.Snapshot(ctx, tenant)
	if err != nil {
		return nil, err
	}
	made := s.configured
	if len(snapshot.Routes) > 0 {
		var broken map[string]error
		if made, broken, err = s.configured.With(snapshot.Routes); err != nil {
			return nil, err
		}
		for name, why := range broken {
			s.log.ErrorContext(ctx, "route does not apply", "tenant", tenant, "route", name, "error", why)
		}
	}
	if known, ok := s.held.Get(tenant); !ok || known.revision < snapshot.Revision {
		s.held.Add(tenant, heldTable{made, snapshot.Revision})
	}
	return made, nil
}
