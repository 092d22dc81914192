package decide

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// tenantsKept limits the tenants whose compiled policies are in memory.
const tenantsKept = 1024

// policyReader reads policies and their revision.
type policyReader interface {
	Revision(ctx context.Context, tenant string) (uint64, error)
	Snapshot(ctx context.Context, tenant string) (store.Snapshot, error)
}

// sets holds the compiled policies of tenants. The revision in the database says whether they are still the present ones, so that a change
// applies to the next call of every process. It is safe for concurrent use.
type sets struct {
	store   policyReader
	now     func() time.Time
	mu      sync.Mutex // orders changes of held
	held    *lru.Cache[string, heldSet]
	loading singleflight.Group
}

// heldSet is a set, when it was last known to be the present one, and when this process last learned of a change.
type heldSet struct {
	set              *access.Set
	checked, changed time.Time
}

func newSets(s policyReader) (*sets, error) {
	held, err := lru.New[string, heldSet](tenantsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of policies: %w", err)
	}
	return &sets{store: s, now: time.Now, held: held}, nil
}

// current returns a set with every change that was committed before the call.
func (s *sets) current(ctx context.Context, tenant string) (*access.Set, error) {
	asked := s.now()
	revision, err := s.store.Revision(ctx, tenant)
	if err != nil {
		return nil, err
	}
	known, ok := s.held.Get(tenant)
	if ok && known.set != nil && known.set.Revision >= revision {
		s.keep(tenant, known.set, asked)
		return known.set, nil
	}
	return s.load(ctx, tenant, revision)
}

// recent is current, but returns the set of the last check if that was no longer ago than age.
func (s *sets) recent(ctx context.Context, tenant string, age time.Duration) (*access.Set, error) {
	if known, ok := s.held.Get(tenant); ok && known.set != nil && s.now().Sub(known.checked) < age {
		return known.set, nil
	}
	return s.current(ctx, tenant)
}

// changed makes the next call read the database. It is called after the change was committed.
func (s *sets) changed(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, _ := s.held.Get(tenant)
	s.held.Add(tenant, heldSet{set: known.set, changed: s.now()})
}

// forget is changed for one tenant or, if it is empty, all.
func (s *sets) forget(tenant string) {
	if tenant != "" {
		s.changed(tenant)
		return
	}
	for _, t := range s.held.Keys() {
		s.changed(t)
	}
}

// keep holds a set that was read from the database after asked, unless there is a newer one.
func (s *sets) keep(tenant string, set *access.Set, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, _ := s.held.Get(tenant)
	if known.set != nil && known.set.Revision > set.Revision {
		return
	}
	known.set = set
	if asked.After(known.changed) && asked.After(known.checked) {
		known.checked = asked
	}
	s.held.Add(tenant, known)
}

// compiled returns the set of a snapshot, with what is compiled already.
func (s *sets) compiled(snapshot store.Snapshot, tenant string) (*access.Set, error) {
	known, _ := s.held.Get(tenant)
	return access.NewSet(snapshot, known.set)
}

// load reads and compiles the policies. Callers that have seen the same revision share the work.
func (s *sets) load(ctx context.Context, tenant string, revision uint64) (*access.Set, error) {
	answer := s.loading.DoChan(fmt.Sprintf("%d %s", revision, tenant), func() (any, error) {
		asked := s.now()
		snapshot, err := s.store.Snapshot(context.WithoutCancel(ctx), tenant)
		if err != nil {
			return nil, err
		}
		known, _ := s.held.Get(tenant)
		made, err := access.NewSet(snapshot, known.set)
		if err != nil {
			return nil, err
		}
		s.keep(tenant, made, asked)
		return made, nil
	})
	select {
	case r := <-answer:
		set, ok := r.Val.(*access.Set)
		if r.Err == nil && !ok {
			return nil, errors.New("policy: foreign value in the singleflight group")
		}
		return set, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
