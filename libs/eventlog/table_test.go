package eventlog_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// migration has the tables that the services have.
const migration = `-- +goose Up
CREATE TABLE t_events (tenant TEXT NOT NULL, id TEXT NOT NULL, seq BIGINT NOT NULL, place BIGINT NOT NULL, type TEXT NOT NULL,
    subject TEXT NOT NULL, time_us BIGINT NOT NULL, data TEXT NOT NULL, owner TEXT NOT NULL, erase_with TEXT NOT NULL, PRIMARY KEY (tenant, id));
CREATE UNIQUE INDEX t_events_seq ON t_events (tenant, seq) WHERE seq > 0;
CREATE INDEX t_events_type ON t_events (tenant, type, seq) WHERE seq > 0;
CREATE INDEX t_events_new ON t_events (tenant) WHERE seq = 0;
CREATE INDEX t_events_erase ON t_events (tenant, erase_with) WHERE erase_with <> '';
CREATE TABLE t_event_heads (tenant TEXT NOT NULL PRIMARY KEY, seq BIGINT NOT NULL, time_us BIGINT NOT NULL);
`

const (
	updated = "dev.windlass.agent.updated.v1"
	deleted = "dev.windlass.agent.deleted.v1"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func at(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }

type env struct {
	testing.TB
	db *sqldb.DB
	*eventlog.Table
}

// onEngines runs a test on both engines.
func onEngines(t *testing.T, conns int, test func(e env)) {
	t.Helper()
	for engine, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "t.db") },
		"postgres": func(t *testing.T) string { return testpg.URL(t) },
	} {
		t.Run(engine, func(t *testing.T) {
			db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url(t), Schema: "t", MaxConns: conns})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				plantest.Check(t, db, eventlog.Scans()...)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			if err := db.Migrate(t.Context(), fstest.MapFS{"m/001_t.sql": {Data: []byte(migration)}}, "m"); err != nil {
				t.Fatal(err)
			}
			test(env{t, db, eventlog.NewTable(db, "t")})
		})
	}
}

func event(t testing.TB, tenant, eventType, subject string, when time.Time) eventlog.Event {
	t.Helper()
	e, err := eventlog.New(tenant, eventType, subject, when, &eventv1.AgentChange{AgentId: subject, Revision: 1})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// add commits events in one transaction.
func (e env) add(events ...eventlog.Event) {
	e.Helper()
	err := e.Write(e.Context(), e.db.Write, func(_ sqldb.Tx, add func(eventlog.Event, error) error) error {
		for _, one := range events {
			if err := add(one, nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		e.Fatal(err)
	}
}

func (e env) number() []eventlog.Event {
	e.Helper()
	out, err := e.Sequence(e.Context())
	if err != nil {
		e.Fatal(err)
	}
	return out
}

func (e env) read(q eventlog.Query) eventlog.Page {
	e.Helper()
	q.Tenant, q.Limit = cmp.Or(q.Tenant, "one"), cmp.Or(q.Limit, 100)
	p, err := e.Read(e.Context(), q)
	if err != nil {
		e.Fatal(err)
	}
	return p
}

func subjects(p eventlog.Page) (out []string) {
	for _, e := range p.Events {
		out = append(out, e.Subject)
	}
	return out
}

func (e env) same(what string, got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestEventsAreNumberedInTheOrderOfTheirTransaction(t *testing.T) {
	onEngines(t, 1, func(e env) {
		if p := e.read(eventlog.Query{}); len(p.Events) != 0 || !p.Done || p.Head != 0 {
			e.Fatalf("an empty log: %+v", p)
		}
		var some []eventlog.Event
		for i := range 20 {
			some = append(some, event(e, "one", updated, fmt.Sprint(i), at(0)))
		}
		e.add(some...)
		e.add(event(e, "two", updated, "other", at(0)))
		if p := e.read(eventlog.Query{}); len(p.Events) != 0 {
			e.Errorf("events without numbers are visible: %+v", p)
		}
		if got := e.number(); len(got) != 21 {
			e.Errorf("%d events were numbered", len(got))
		}
		if got := e.number(); len(got) != 0 {
			e.Errorf("events were numbered again: %v", got)
		}
		p := e.read(eventlog.Query{})
		for i, one := range p.Events {
			if one.Subject != fmt.Sprint(i) || one.Seq != int64(i+1) || one.Tenant != "one" || !one.Time.Equal(at(0)) {
				e.Errorf("event %d is %+v", i, one)
			}
		}
		if p.Head != 20 || !p.Done || p.Position != 20 {
			e.Errorf("page: %+v", p)
		}
		e.same("the other tenant", subjects(e.read(eventlog.Query{Tenant: "two"})), "other")
	})
}

func TestTimesRiseWithNumbers(t *testing.T) {
	onEngines(t, 1, func(e env) {
		e.add(event(e, "one", updated, "b", at(5)))
		e.number()
		e.add(event(e, "one", updated, "late", at(3)), event(e, "one", updated, "c", at(6))) // its transaction began earlier
		e.number()
		p := e.read(eventlog.Query{})
		e.same("order", subjects(p), "b", "late", "c")
		if !p.Events[1].Time.Equal(at(5)) || !p.Events[2].Time.Equal(at(6)) {
			e.Errorf("times: %v, %v", p.Events[1].Time, p.Events[2].Time)
		}
	})
}

func TestQueries(t *testing.T) {
	onEngines(t, 1, func(e env) {
		for i := range 6 {
			kind := updated
			if i%3 == 2 {
				kind = deleted
			}
			one := event(e, "one", kind, fmt.Sprintf("a%d", i), at(i))
			one.Owner = []string{"ann", "bob", ""}[i%3]
			e.add(one)
			e.number()
		}
		for _, row := range []struct {
			name string
			q    eventlog.Query
			want []string
			done bool
		}{
			{"all", eventlog.Query{}, []string{"a0", "a1", "a2", "a3", "a4", "a5"}, true},
			{"newest first", eventlog.Query{Newest: true}, []string{"a5", "a4", "a3", "a2", "a1", "a0"}, true},
			{"a page", eventlog.Query{After: 1, Limit: 2}, []string{"a1", "a2"}, false},
			{"a page of the newest", eventlog.Query{Before: 4, Limit: 2, Newest: true}, []string{"a2", "a1"}, false},
			{"the last page", eventlog.Query{After: 4, Limit: 2}, []string{"a4", "a5"}, true},
			{"a type", eventlog.Query{Types: []string{deleted}}, []string{"a2", "a5"}, true},
			{"types", eventlog.Query{Types: []string{deleted, "x"}, Newest: true}, []string{"a5", "a2"}, true},
			{"a subject", eventlog.Query{Subject: "a3"}, []string{"a3"}, true},
			{"a pattern of subjects", eventlog.Query{Subject: "?[3-4]"}, nil, true},
			{"subjects", eventlog.Query{Subject: "*", Types: []string{deleted}}, []string{"a2", "a5"}, true},
			{"an owner", eventlog.Query{Owner: "ann"}, []string{"a0", "a2", "a3", "a5"}, true},
			{"since a time", eventlog.Query{Since: at(4)}, []string{"a4", "a5"}, true},
			{"since between two", eventlog.Query{Since: at(3).Add(1), Newest: true}, []string{"a5", "a4"}, true},
			{"until a time", eventlog.Query{Until: at(2)}, []string{"a0", "a1"}, true},
			{"between times", eventlog.Query{Since: at(1), Until: at(3), Newest: true}, []string{"a2", "a1"}, true},
			{"no time is both", eventlog.Query{Since: at(4), Until: at(2)}, nil, true},
			{"before all", eventlog.Query{Until: at(-1)}, nil, true},
			{"after all", eventlog.Query{Since: at(9)}, nil, true},
		} {
			p := e.read(row.q)
			e.same(row.name, subjects(p), row.want...)
			if p.Done != row.done {
				e.Errorf("%s: done is %t", row.name, p.Done)
			}
		}
		for name, q := range map[string]eventlog.Query{"after": {After: 7}, "before": {Before: 8}, "negative": {After: -1}} {
			q.Tenant, q.Limit = "one", 1
			if _, err := e.Read(e.Context(), q); !errors.Is(err, eventlog.ErrAhead) {
				e.Errorf("%s: %v", name, err)
			}
		}
		p, err := e.Read(e.Context(), eventlog.Query{Tenant: "one", Since: at(2)})
		if err != nil || p.First != 2 || p.Last != 6 || p.Events != nil {
			e.Errorf("positions: %+v, %v", p, err)
		}
	})
}

func TestOldEventsAreDeleted(t *testing.T) {
	onEngines(t, 1, func(e env) {
		for i := range 5 {
			e.add(event(e, "one", updated, fmt.Sprint(i), at(i)))
		}
		e.number()
		e.add(event(e, "one", updated, "new", at(0)))
		for range 2 {
			if err := e.Prune(e.Context(), at(3)); err != nil {
				e.Fatal(err)
			}
		}
		e.number()
		e.same("what is left", subjects(e.read(eventlog.Query{})), "3", "4", "new")
		e.same("newest first", subjects(e.read(eventlog.Query{Newest: true})), "new", "4", "3")
		e.same("a cursor from before", subjects(e.read(eventlog.Query{After: 1})), "3", "4", "new")
		e.same("since", subjects(e.read(eventlog.Query{Since: at(1)})), "3", "4", "new")
		if err := e.Prune(e.Context(), at(100)); err != nil {
			e.Fatal(err)
		}
		p := e.read(eventlog.Query{Newest: true})
		if len(p.Events) != 0 || !p.Done || p.Head != 6 {
			e.Errorf("an emptied log: %+v", p)
		}
		e.add(event(e, "one", updated, "next", at(9)))
		if got := e.number(); len(got) != 1 || got[0].Seq != 7 {
			e.Errorf("numbers begin again: %+v", got)
		}
	})
}

func TestEventsAreErased(t *testing.T) {
	onEngines(t, 1, func(e env) {
		for i, with := range []string{"ses_1", "", "ses_2", "ses_1"} {
			one := event(e, "one", updated, fmt.Sprint(i), at(i))
			one.EraseWith = with
			e.add(one)
			if i < 3 {
				e.number()
			}
		}
		for range 2 {
			err := e.db.Write(e.Context(), func(tx sqldb.Tx) error { return e.Erase(e.Context(), tx, "one", []string{"ses_1", ""}) })
			if err != nil {
				e.Fatal(err)
			}
		}
		e.number()
		e.same("what is left", subjects(e.read(eventlog.Query{})), "1", "2")
	})
}

// TestLateCommit has the anomaly of numbers that are given when rows are inserted: a transaction with a lower number is committed after a
// reader has passed it.
func TestLateCommit(t *testing.T) {
	onEngines(t, 4, func(e env) {
		if e.db.Dialect() == sqldb.SQLite {
			return // has one writer
		}
		added, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		early := event(e, "one", updated, "early", at(1))
		go func() {
			done <- e.Write(context.WithoutCancel(e.Context()), e.db.Write, func(_ sqldb.Tx, add func(eventlog.Event, error) error) error {
				if err := add(early, nil); err != nil {
					return err
				}
				close(added)
				<-release
				return nil
			})
		}()
		<-added
		e.add(event(e, "one", updated, "late", at(2)))
		e.number()
		p := e.read(eventlog.Query{})
		e.same("before the commit", subjects(p), "late")
		close(release)
		if err := <-done; err != nil {
			e.Fatal(err)
		}
		e.number()
		e.same("after the commit", subjects(e.read(eventlog.Query{After: p.Position})), "early")
	})
}

// TestFollowersMissNothing has writers, sequencers and followers at the same time.
func TestFollowersMissNothing(t *testing.T) {
	const writers, each, followers = 8, 25, 3
	onEngines(t, 8, func(e env) {
		ctx, cancel := context.WithCancel(e.Context())
		defer cancel()
		var write, work, follow sync.WaitGroup
		for w := range writers {
			write.Go(func() {
				for i := range each {
					subject := fmt.Sprintf("%d.%d", w, i)
					e.add(event(e, "one", updated, subject, e.db.Now()), event(e, "one", deleted, subject, e.db.Now()))
				}
			})
		}
		for range 2 {
			work.Go(func() {
				for ctx.Err() == nil {
					if _, err := e.Sequence(ctx); err != nil && ctx.Err() == nil {
						e.Error(err)
						return
					}
				}
			})
		}
		seen := make([][]string, followers)
		for f := range followers {
			follow.Go(func() {
				after := int64(0)
				for len(seen[f]) < 2*writers*each && ctx.Err() == nil {
					p, err := e.Read(ctx, eventlog.Query{Tenant: "one", After: after, Limit: 7})
					if err != nil {
						e.Error(err)
						return
					}
					for _, one := range p.Events {
						if one.Seq != after+1 {
							e.Errorf("event %d follows %d", one.Seq, after)
							return
						}
						after = one.Seq
						seen[f] = append(seen[f], one.Type+one.Subject)
					}
				}
			})
		}
		write.Wait()
		follow.Wait()
		cancel()
		work.Wait()
		for f := range followers {
			slices.Sort(seen[f])
			if got := len(slices.Compact(seen[f])); got != 2*writers*each {
				e.Errorf("follower %d has seen %d different events", f, got)
			}
		}
	})
}

func TestTypesHaveTheirData(t *testing.T) {
	if _, err := eventlog.New("one", "dev.windlass.tool.called.v1", "x", begin, &eventv1.AgentChange{}); err == nil {
		t.Error("an event has the data of another type")
	}
	all := eventlog.Types("")
	if len(all) != len(slices.Compact(slices.Sorted(slices.Values(all)))) || len(all) < 15 {
		t.Errorf("types: %q", all)
	}
	n := 0
	for _, source := range []string{"/windlass/registry", "/windlass/sessions", "/windlass/policy"} {
		n += len(eventlog.Types(source))
	}
	if n != len(all) {
		t.Errorf("%d types have a source, of %d", n, len(all))
	}
}
