package trail_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// tables are those of the policy service.
var tables = testdb.New("policy", store.Migrate)

// env is a trail with two replicas.
type env struct {
	*testing.T
	one, two *sqldb.DB
}

// onEngines runs a test on both engines. On SQLite the replicas share the file's one handle.
func onEngines(t *testing.T, test func(env)) {
	t.Run("SQLite", func(t *testing.T) {
		db := open(t, tables.SQLite(t))
		test(env{t, db, db})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		url := tables.Postgres(t)
		test(env{t, open(t, url), open(t, url)})
	})
}

func open(t *testing.T, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "audit_heads", "audit_anchors", "seq = 0 UNION", "test of what is stored")
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

var at = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func record(tenant string, n int) trail.Record {
	return trail.New(tenant, at.Add(time.Duration(n)*time.Second), "corp:alice", "gateway", "registry.sources.delete",
		fmt.Sprintf("notes%d", n), trail.Done, "a <reason>\nof ø",
		trail.Links{TurnID: fmt.Sprintf("trn_%d", n), SessionID: "ses_1", RequestID: "r"})
}

func (e env) add(t *trail.Trail, all ...trail.Record) {
	e.Helper()
	for _, r := range all {
		if err := t.Add(e.Context(), r); err != nil {
			e.Fatal(err)
		}
	}
	if err := t.Extend(e.Context()); err != nil {
		e.Fatal(err)
	}
}

func (e env) verify(tenant string, a trail.Anchor) trail.Report {
	e.Helper()
	rep, err := trail.Of(e.one).Verify(e.Context(), tenant, a)
	if err != nil {
		e.Fatal(err)
	}
	return rep
}

func (e env) list(f trail.Filter) (out []trail.Record) {
	e.Helper()
	var position int64
	for range 100 {
		p, err := trail.Of(e.one).List(e.Context(), "one", f, position, 3)
		if err != nil {
			e.Fatal(err)
		}
		out = append(out, p.Records...)
		if position = p.Position; position == 0 {
			return out
		}
	}
	e.Fatal("the list does not end")
	return nil
}

func (e env) exec(text string, args ...any) {
	e.Helper()
	if err := e.one.Write(e.Context(), func(tx sqldb.Tx) error {
		n, err := sqldb.Exec(e.Context(), tx, text+" /* test of what is stored */", args...)
		if err == nil && n == 0 {
			err = fmt.Errorf("nothing changed: %s", text)
		}
		return err
	}); err != nil {
		e.Fatal(err)
	}
}

func TestRecordsAreChainedAndRead(t *testing.T) {
	onEngines(t, func(e env) {
		tr := trail.Of(e.one)
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 0 || rep.Records != 0 {
			e.Errorf("an empty trail: %+v", rep)
		}
		for n := range 10 {
			r := record("one", n)
			if n == 5 {
				r.Time, r.Outcome, r.Action, r.Links = at, trail.Refused, "registry.sources.create", trail.Links{} // late
			}
			e.add(tr, r, record("two", n))
			e.add(tr, r) // again
		}
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 0 || rep.Records != 10 {
			e.Errorf("%+v", rep)
		}
		all := e.list(trail.Filter{OldestFirst: true})
		if len(all) != 10 {
			e.Fatalf("%d records", len(all))
		}
		for i, r := range all {
			want := record("one", i)
			if r.Seq != int64(i+1) || r.Resource != want.Resource || r.Subject != want.Subject || r.Reason != want.Reason ||
				i != 5 && (r.Links != want.Links || !r.Time.Equal(want.Time)) {
				e.Errorf("record %d: %+v", i, r)
			}
		}
		if !all[5].Time.Equal(all[4].Time) {
			e.Errorf("a late record has the time %s, before that of the one before", all[5].Time)
		}
		for name, c := range map[string]struct {
			f    trail.Filter
			want int
		}{
			"newest first": {trail.Filter{}, 10},
			"subject":      {trail.Filter{Subject: "corp:bob"}, 0},
			"resource":     {trail.Filter{Resource: "notes3"}, 1},
			"action":       {trail.Filter{Action: "registry.sources.create"}, 1},
			"actions":      {trail.Filter{Action: "registry.*"}, 10},
			"outcome":      {trail.Filter{Outcome: trail.Refused}, 1},
			"turn":         {trail.Filter{TurnID: "trn_4"}, 1},
			"times":        {trail.Filter{Since: at.Add(2 * time.Second), Until: at.Add(4 * time.Second), OldestFirst: true}, 2},
		} {
			if got := e.list(c.f); len(got) != c.want {
				e.Errorf("%s: %d records, want %d", name, len(got), c.want)
			}
		}
	})
}

// TestANewChainDoesNotHaveTheOldHash: who removes records and computes the chain again is found by a hash that was kept elsewhere.
func TestANewChainDoesNotHaveTheOldHash(t *testing.T) {
	onEngines(t, func(e env) {
		tr := trail.Of(e.one)
		for n := range 5 {
			e.add(tr, record("one", n))
		}
		kept := e.verify("one", trail.Anchor{})
		anchor := trail.Anchor{Seq: kept.Seq, Hash: kept.Hash}
		e.add(tr, record("one", 6))
		if rep := e.verify("one", anchor); rep.BrokenAt != 0 {
			e.Errorf("a chain that has grown: %+v", rep)
		}
		e.exec(`DELETE FROM audit_records WHERE tenant = 'one' AND seq = 2`)
		e.exec(`UPDATE audit_records SET seq = 0 WHERE tenant = 'one'`)
		e.exec(`DELETE FROM audit_heads WHERE tenant = 'one'`)
		e.add(tr)
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 0 {
			e.Errorf("a new chain is whole: %+v", rep)
		}
		if rep := e.verify("one", anchor); rep.BrokenAt != 5 {
			e.Errorf("a new chain has the old hash: %+v", rep)
		}
		e.exec(`DELETE FROM audit_records WHERE tenant = 'one'`)
		e.exec(`DELETE FROM audit_heads WHERE tenant = 'one'`)
		if rep := e.verify("one", anchor); rep.BrokenAt != 1 || !strings.Contains(rep.Problem, "5") {
			e.Errorf("everything is removed: %+v", rep)
		}
	})
}

// TestReplicasKeepOneChain: two replicas add records and decisions and extend the chain at the same time.
func TestReplicasKeepOneChain(t *testing.T) {
	onEngines(t, func(e env) {
		const writers, each = 4, 60
		var all sync.WaitGroup
		for w := range writers {
			db := e.one
			if w%2 == 1 {
				db = e.two
			}
			tr := trail.Of(db)
			decisions := store.New(db, tr)
			all.Go(func() {
				for n := range each {
					err := tr.Add(e.Context(), record("one", n))
					if err == nil {
						err = decisions.Add(e.Context(), store.Decision{
							Tenant: "one", ID: fmt.Sprintf("dec_%d_%d", w, n), Time: at, Kind: store.Tool, Resource: "notes__add", TurnID: "trn_1", CallID: "c",
						}, nil)
					}
					if err == nil {
						err = tr.Extend(e.Context())
					}
					if err != nil {
						e.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 0 || rep.Records != 2*writers*each {
			e.Errorf("%+v", rep)
		}
		if got := e.list(trail.Filter{Action: "tool.call", Outcome: trail.Refused}); len(got) != writers*each {
			e.Errorf("%d decisions", len(got))
		}
	})
}

// TestErasedTurns: what links records to turns is erased, and the chain is whole.
func TestErasedTurns(t *testing.T) {
	onEngines(t, func(e env) {
		tr := trail.Of(e.one)
		e.add(tr, record("one", 1), record("one", 2))
		if err := store.New(e.one, tr).Forget(e.Context(), "one", []string{"trn_1"}); err != nil {
			e.Fatal(err)
		}
		got := e.list(trail.Filter{OldestFirst: true})
		if got[0].Links != (trail.Links{}) || got[1].Links == (trail.Links{}) || got[0].LinksHash == "" {
			e.Errorf("%+v", got)
		}
		if rep := e.verify("one", trail.Anchor{}); rep.BrokenAt != 0 || rep.Records != 2 {
			e.Errorf("%+v", rep)
		}
	})
}

// TestRunTakesWhatAnotherProcessLeft: records of a process that was killed get their places from the next one.
func TestRunTakesWhatAnotherProcessLeft(t *testing.T) {
	onEngines(t, func(e env) {
		if err := trail.Of(e.one).Add(e.Context(), record("one", 1)); err != nil {
			e.Fatal(err)
		}
		ctx, cancel := context.WithCancel(e.Context())
		cancel()
		trail.Of(e.two).Run(ctx, e.one.Log()) // a last time at its end
		if rep := e.verify("one", trail.Anchor{}); rep.Records != 1 {
			e.Errorf("%+v", rep)
		}
	})
}
