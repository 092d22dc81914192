// Package storetest is the suite that every engine of the store of routes passes.
package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/inference/store"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// Run runs the suite on the empty database at url.
func Run(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "inference", MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "route_revisions") // one row per tenant, and a bounded number of routes
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // a second migration finds nothing to do
		if err := store.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	s := store.New(db)
	t.Run("routes are stored with revisions that grow", func(t *testing.T) { changes(t, s) })
	t.Run("a change that fails changes nothing", func(t *testing.T) { failed(t, s) })
	t.Run("concurrent changes of a tenant see each other", func(t *testing.T) { concurrent(t, s) })
	t.Run("another store sees a change at once", func(t *testing.T) { other(t, s, store.New(db)) })
}

func put(name string, spec store.Spec) func(store.Snapshot) (store.Change, error) {
	return func(store.Snapshot) (store.Change, error) {
		return store.Change{Put: &store.Route{Name: name, Spec: spec, CreateTime: begin, UpdateTime: begin.Add(time.Second)}}, nil
	}
}

func remove(name string) func(store.Snapshot) (store.Change, error) {
	return func(store.Snapshot) (store.Change, error) { return store.Change{Delete: name}, nil }
}

func changes(t *testing.T, s store.Store) {
	t.Helper()
	spec := store.Spec{
		Description: "ø", Priority: -3, Disabled: true, When: `agent == "a"`, SwitchOnFilter: true,
		Targets: []store.Target{{Model: "a/b", Weight: 2}, {Model: "c/d"}},
	}
	if now, err := s.Snapshot(t.Context(), "p"); err != nil || now.Revision != 0 || len(now.Routes) != 0 {
		t.Errorf("before the first route: %v, %v", now, err)
	}
	want := store.Route{Tenant: "p", Name: "one", Spec: spec, Revision: 1, CreateTime: begin, UpdateTime: begin.Add(time.Second)}
	if got, err := s.Change(t.Context(), "p", put("one", spec)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("created %+v, %v", got, err)
	}
	all := store.Snapshot{Revision: 1, Routes: []store.Route{want}}
	if now, err := s.Snapshot(t.Context(), "p"); err != nil || !reflect.DeepEqual(now, all) {
		t.Errorf("read %+v, %v", now, err)
	}
	for _, name := range []string{"two", "one", "zero"} {
		if _, err := s.Change(t.Context(), "p", put(name, spec)); err != nil {
			t.Fatal(err)
		}
	}
	now, err := s.Snapshot(t.Context(), "p")
	var names []string
	for _, r := range now.Routes {
		names = append(names, fmt.Sprintf("%s:%d", r.Name, r.Revision))
	}
	if err != nil || now.Revision != 4 || strings.Join(names, " ") != "one:2 two:1 zero:1" {
		t.Errorf("snapshot %d %v, %v", now.Revision, names, err)
	}
	for _, name := range []string{"one", "two", "zero"} {
		if got, err := s.Change(t.Context(), "p", remove(name)); err != nil || got.Name != name || got.Revision == 0 {
			t.Errorf("deleted %+v, %v", got, err)
		}
	}
	if now, err := s.Snapshot(t.Context(), "p"); err != nil || now.Revision != 7 || len(now.Routes) != 0 {
		t.Errorf("after the last route: %v, %v", now, err)
	}
	if now, err := s.Snapshot(t.Context(), "q"); err != nil || now.Revision != 0 || len(now.Routes) != 0 {
		t.Errorf("another tenant: %v, %v", now, err)
	}
}

func failed(t *testing.T, s store.Store) {
	t.Helper()
	wrong := errors.New("wrong")
	_, err := s.Change(t.Context(), "failed", func(store.Snapshot) (store.Change, error) { return store.Change{}, wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("the error of the change: %v", err)
	}
	if _, err = s.Change(t.Context(), "failed", remove("none")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("nothing to delete: %v", err)
	}
	if r, err := s.Revision(t.Context(), "failed"); err != nil || r != 0 {
		t.Errorf("revision %d, %v", r, err)
	}
}

func concurrent(t *testing.T, s store.Store) {
	t.Helper()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := s.Change(t.Context(), "many", func(now store.Snapshot) (store.Change, error) {
				// Each change depends on what it sees.
				return put(fmt.Sprintf("r%d", len(now.Routes)), store.Spec{})(now)
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if now, err := s.Snapshot(t.Context(), "many"); err != nil || now.Revision != 8 || len(now.Routes) != 8 {
		t.Errorf("snapshot %v, %v", now, err)
	}
}

// other reads the revision in one store after each change in another, as a second replica does on PostgreSQL.
func other(t *testing.T, s, second store.Store) {
	t.Helper()
	for i := range 3 {
		if _, err := s.Change(t.Context(), "other", put("one", store.Spec{})); err != nil {
			t.Fatal(err)
		}
		if r, err := second.Revision(t.Context(), "other"); err != nil || r != uint64(i+1) {
			t.Errorf("revision %d after change %d, %v", r, i+1, err)
		}
	}
}
