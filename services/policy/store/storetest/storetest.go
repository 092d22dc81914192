// Package storetest is the suite that every engine of the policy store passes.
package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// Run runs the suite on the empty database at url.
func Run(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "policy_revisions") // one row per tenant, and a bounded number of policies
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // a second migration finds nothing to do
		if err := store.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	s := store.New(db, trail.Of(db))
	t.Run("what is added is read back", func(t *testing.T) { readBack(t, s) })
	t.Run("another tenant sees nothing", func(t *testing.T) { tenants(t, s) })
	t.Run("the list is newest first, filtered and paged", func(t *testing.T) { list(t, s) })
	t.Run("what a deleted session's turns asked for is forgotten", func(t *testing.T) { forget(t, s) })
	t.Run("decisions that are written later are read", func(t *testing.T) { later(t, s) })
	t.Run("decisions that may be stored already", func(t *testing.T) { missing(t, s) })
	t.Run("late decisions of turns that are erased", func(t *testing.T) { late(t, s, store.New(db, trail.Of(db))) })
	t.Run("many writers lose nothing", func(t *testing.T) { writers(t, s) })
	t.Run("decisions of a range of times", func(t *testing.T) { between(t, s) })
	t.Run("principals of decisions are read back", func(t *testing.T) { inputs(t, s) })
	t.Run("policies are stored with revisions that grow", func(t *testing.T) { policies(t, s) })
	t.Run("a change that fails changes nothing", func(t *testing.T) { failedChange(t, s) })
	t.Run("concurrent changes of a tenant see each other", func(t *testing.T) { concurrentChanges(t, s) })
}

func decision(tenant, id string, at time.Time) store.Decision {
	return store.Decision{
		Tenant: tenant, ID: id, Time: at, Subject: "alice", Kind: store.Tool, Resource: "notes__add", Method: "", Allowed: true,
		Rule: "r", Reason: "rule \"r\" allows — ø", Source: "notes", Effect: "once", ArgumentsHash: "ab", TurnID: "trn_1", CallID: "call_1",
		PolicyRevision: 7, Policies: "one,two", InputHash: "cd", Latency: 42 * time.Microsecond,
	}
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func readBack(t *testing.T, s store.Store) {
	t.Helper()
	want := decision("one", "dec_1", begin)
	if err := s.Add(t.Context(), want, nil); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), "one", "dec_1")
	if err != nil || got != want {
		t.Errorf("Get = %+v, %v, want %+v", got, err, want)
	}
	if err := s.Add(t.Context(), want, nil); !sqldb.IsUnique(err) {
		t.Errorf("the same id again: %v", err)
	}
}

func tenants(t *testing.T, s store.Store) {
	t.Helper()
	if _, err := s.Get(t.Context(), "two", "dec_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get = %v, want ErrNotFound", err)
	}
	if found, err := s.List(t.Context(), "two", store.Filter{}, store.Cursor{}, 10); err != nil || len(found) != 0 {
		t.Errorf("List = %v, %v", found, err)
	}
}

func list(t *testing.T, s store.Store) {
	t.Helper()
	for i := range 7 {
		d := decision("list", fmt.Sprintf("dec_%d", i), begin.Add(time.Duration(i/2)*time.Second)) // pairs share a time
		d.Allowed = i%3 != 0
		d.TurnID, d.CallID = []string{"trn_a", "trn_b"}[i%2], []string{"call_1", "call_2", ""}[i%3]
		if err := s.Add(t.Context(), d, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name   string
		filter store.Filter
		want   string
	}{
		{"all", store.Filter{}, "6543210"},
		{"one turn", store.Filter{TurnID: "trn_b"}, "531"},
		{"one call", store.Filter{CallID: "call_2"}, "41"},
		{"a call of one turn", store.Filter{CallID: "call_1", TurnID: "trn_b"}, "3"},
		{"refusals", store.Filter{DeniedOnly: true}, "630"},
		{"refusals of one turn", store.Filter{TurnID: "trn_a", DeniedOnly: true}, "60"},
	} {
		var got strings.Builder
		var after store.Cursor
		for {
			page, err := s.List(t.Context(), "list", row.filter, after, 2)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range page {
				got.WriteString(d.ID[len("dec_"):])
				after = store.Cursor{Micros: sqldb.Micros(d.Time), ID: d.ID}
			}
			if len(page) < 2 {
				break
			}
		}
		if got.String() != row.want {
			t.Errorf("%s: %s, want %s", row.name, got.String(), row.want)
		}
	}
}

func writers(t *testing.T, s store.Store) {
	t.Helper()
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := s.Add(t.Context(), decision("many", fmt.Sprintf("dec_%d", i), begin), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found, err := s.List(t.Context(), "many", store.Filter{}, store.Cursor{}, 100); err != nil || len(found) != 16 {
		t.Errorf("List gives %d, %v", len(found), err)
	}
}

func forget(t *testing.T, s store.Store) {
	t.Helper()
	for _, turn := range []string{"trn_f1", "trn_f2"} {
		if err := s.Add(t.Context(), store.Decision{
			Tenant: "forget", ID: "dec_" + turn, Time: time.UnixMicro(1), Subject: "ann", Kind: store.Tool, Resource: "n__a", Allowed: true,
			Rule:   "r",
			Reason: "why", ArgumentsHash: "hash", TurnID: turn, CallID: "call",
		}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Forget(t.Context(), "forget", []string{"trn_f1", "trn_none"}); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Get(t.Context(), "forget", "dec_trn_f1"); err != nil || d.TurnID != "" || d.CallID != "" || d.ArgumentsHash != "" ||
		d.Subject != "ann" || d.Resource != "n__a" || d.Rule != "r" {
		t.Errorf("forgotten: %+v, %v", d, err)
	}
	if d, err := s.Get(t.Context(), "forget", "dec_trn_f2"); err != nil || d.TurnID != "trn_f2" || d.ArgumentsHash != "hash" {
		t.Errorf("another turn's: %+v, %v", d, err)
	}
}
