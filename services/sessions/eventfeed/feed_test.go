package eventfeed_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testwant"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	"github.com/windlass-dev/windlass/services/sessions/eventfeed"
	"github.com/windlass-dev/windlass/services/sessions/sessionstest"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var tables = testdb.New("sessions", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

var begin = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(n int) time.Time { return begin.Add(time.Duration(n) * time.Second) }

// log is a log of one of the services.
type log struct {
	testing.TB
	db *sqldb.DB
	*eventlog.Log
	role string
}

func newLog(t testing.TB, role string, b *bus.Bus) *log {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: tables.SQLite(t), Schema: "sessions"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	l, err := eventlog.NewLog(eventlog.Config{
		Source: "/windlass/" + role, Retention: time.Hour, Interval: time.Hour,
		Subject: func(tenant string) string { return contract.DomainEventSubject(tenant, role) },
	}, eventlog.NewTable(db, "sessions"), b, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &log{t, db, l, role}
}

// add records an event of the service, named after its role and n, and numbers it.
func (l *log) add(n int, when time.Time) {
	l.Helper()
	e, err := eventlog.New("one", "dev.windlass.agent.updated.v1", fmt.Sprintf("%s%d", l.role[:1], n), when, &eventv1.AgentChange{})
	switch l.role {
	case "policy":
		e, err = eventlog.New("one", "dev.windlass.quota.set.v1", fmt.Sprintf("%s%d", l.role[:1], n), when, &eventv1.QuotaChange{})
	case "registry":
		e, err = eventlog.New("one", "dev.windlass.tool_group.updated.v1", fmt.Sprintf("%s%d", l.role[:1], n), when, &eventv1.ToolGroupChange{})
	}
	if err == nil {
		err = l.Write(l.Context(), l.db.Write, func(_ sqldb.Tx, add func(eventlog.Event, error) error) error { return add(e, nil) })
	}
	if err == nil {
		_, err = l.Sequence(l.Context())
	}
	if err != nil {
		l.Fatal(err)
	}
}

// env is a feed over three logs.
type env struct {
	testing.TB
	registry, sessions, policy *log
	fake, fakePolicy           *sessionstest.Registry
	feed                       *eventfeed.Feed
	bus                        *bus.Bus
}

func newEnv(t testing.TB) *env {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Config{URL: bus.Embedded})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	e := &env{TB: t, registry: newLog(t, "registry", b), sessions: newLog(t, "sessions", b), policy: newLog(t, "policy", b), bus: b}
	e.fake, e.fakePolicy = &sessionstest.Registry{Log: e.registry.Log}, &sessionstest.Registry{Log: e.policy.Log}
	e.feed = e.replica()
	return e
}

// replica runs another feed over the same logs.
func (e *env) replica() *eventfeed.Feed {
	e.Helper()
	f, err := eventfeed.New(eventfeed.Config{Poll: time.Hour, PollAway: time.Millisecond}, e.sessions.Log, e.fake, e.fakePolicy, e.bus,
		slog.New(slog.DiscardHandler))
	if err != nil {
		e.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { f.Run(ctx) })
	e.Cleanup(func() { cancel(); done.Wait() })
	return f
}

var all = eventfeed.Selection{Tenant: "one"}

// list reads all pages.
func (e *env) list(sel eventfeed.Selection, newest bool, size int) (out []*eventv1.CloudEvent) {
	e.Helper()
	var from *eventfeed.Position
	for {
		p, err := e.feed.List(e.Context(), sel, from, newest, size)
		if err != nil {
			e.Fatal(err)
		}
		if out = append(out, p.Events...); p.Next == nil {
			return out
		}
		from = p.Next
	}
}

func subjects(events []*eventv1.CloudEvent) (out []string) {
	for _, e := range events {
		out = append(out, e.GetSubject())
	}
	return out
}

var errEnough = errors.New("enough")

// follow returns the subjects of n events after a start, and the last cursor.
func (e *env) follow(f *eventfeed.Feed, sel eventfeed.Selection, start eventfeed.Start, n int) (out []string, cursor string) {
	e.Helper()
	from, err := f.Begin(e.Context(), sel, start)
	if err != nil {
		e.Fatal(err)
	}
	err = f.Follow(e.Context(), sel, from, func(ev *eventv1.CloudEvent, c string) error {
		if cursor = c; ev != nil {
			out = append(out, ev.GetSubject())
		}
		if len(out) == n {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		e.Fatal(err)
	}
	return out, cursor
}

func (e *env) same(what string, got []string, want ...string) {
	e.Helper()
	if !slices.Equal(got, want) {
		e.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (e *env) fill() {
	e.sessions.add(1, at(1))
	e.registry.add(2, at(2))
	e.registry.add(3, at(3))
	e.sessions.add(3, at(3))
	e.sessions.add(4, at(4))
	e.registry.add(5, at(5))
}

func TestListsAreMergedByTime(t *testing.T) {
	e := newEnv(t)
	e.fill()
	for size := 1; size < 8; size++ {
		e.same("oldest first", subjects(e.list(all, false, size)), "s1", "r2", "r3", "s3", "s4", "r5")
		e.same("newest first", subjects(e.list(all, true, size)), "r5", "s4", "s3", "r3", "r2", "s1")
	}
	for _, row := range []struct {
		name string
		sel  eventfeed.Selection
		want []string
	}{
		{"a source", eventfeed.Selection{Source: "/windlass/registry"}, []string{"r2", "r3", "r5"}},
		{"a pattern of sources", eventfeed.Selection{Source: "*/sess*"}, []string{"s1", "s3", "s4"}},
		{"no source", eventfeed.Selection{Source: "/windlass"}, nil},
		{"a type", eventfeed.Selection{Types: []string{"dev.windlass.agent.updated.v1"}}, []string{"s1", "s3", "s4"}},
		{"types", eventfeed.Selection{Types: []string{"dev.windlass.source.*", "*group*"}}, []string{"r2", "r3", "r5"}},
		{"a subject", eventfeed.Selection{Subject: "r3"}, []string{"r3"}},
		{"subjects", eventfeed.Selection{Subject: "?3"}, []string{"r3", "s3"}},
		{"since", eventfeed.Selection{Since: at(3)}, []string{"r3", "s3", "s4", "r5"}},
		{"until", eventfeed.Selection{Until: at(3)}, []string{"s1", "r2"}},
		{"a part", eventfeed.Selection{Since: at(2), Until: at(4), Source: "*/registry"}, []string{"r2", "r3"}},
		{"another tenant", eventfeed.Selection{Tenant: "two"}, nil},
	} {
		if row.sel.Tenant == "" {
			row.sel.Tenant = "one"
		}
		e.same(row.name, subjects(e.list(row.sel, false, 2)), row.want...)
		slices.Reverse(row.want)
		e.same(row.name+", newest first", subjects(e.list(row.sel, true, 2)), row.want...)
	}
}

// TestEveryListedCursorIsAPosition checks that a follower after the cursor of any listed event gets exactly what is listed after it.
func TestEveryListedCursorIsAPosition(t *testing.T) {
	e := newEnv(t)
	random := rand.New(rand.NewPCG(1, 2))
	const n = 60
	for i := range n {
		when := at(i / 4)
		[]*log{e.registry, e.sessions, e.policy}[random.IntN(3)].add(i, when)
	}
	want := subjects(e.list(all, false, 7))
	if len(want) != n {
		t.Fatalf("%d events", len(want))
	}
	for _, newest := range []bool{false, true} {
		for size := 1; size < n+2; size += 1 + random.IntN(9) {
			listed := e.list(all, newest, size)
			if newest {
				slices.Reverse(listed)
			}
			e.same(fmt.Sprintf("pages of %d, newest first: %t", size, newest), subjects(listed), want...)
			i := random.IntN(n - 1)
			got, _ := e.follow(e.feed, all, eventfeed.Start{After: listed[i].GetCursor()}, n-1-i)
			e.same("after "+listed[i].GetCursor(), got, want[i+1:]...)
		}
	}
}

func TestFollowersResumeOnAnyReplica(t *testing.T) {
	e := newEnv(t)
	e.fill()
	other := e.replica()
	first, cursor := e.follow(e.feed, all, eventfeed.Start{Since: at(2)}, 3)
	e.same("since a time", first, "r2", "r3", "s3")
	rest, cursor := e.follow(other, all, eventfeed.Start{After: cursor, Since: at(1)}, 2)
	e.same("on another replica", rest, "s4", "r5")
	started, done := make(chan string, 1), make(chan []string, 1)
	go func() {
		var got []string
		_ = e.feed.Follow(e.Context(), all, testwant.Must(eventfeed.Parse(cursor)), func(ev *eventv1.CloudEvent, c string) error {
			if ev == nil {
				started <- c
				return nil
			}
			if got = append(got, ev.GetSubject()); len(got) == 2 {
				done <- got
				return errEnough
			}
			return nil
		})
	}()
	if c := <-started; c != cursor {
		t.Errorf("the stream starts at %s, not %s", c, cursor)
	}
	e.publish(e.registry, 6)
	e.publish(e.sessions, 7)
	got := <-done
	slices.Sort(got)
	e.same("live", got, "r6", "s7")
	if now := testwant.Must(other.Begin(t.Context(), all, eventfeed.Start{})).String(); now != "r4.s4.p0" {
		t.Errorf("a stream without a start begins at %s", now)
	}
}

// publish adds an event and publishes it.
func (e *env) publish(l *log, n int) {
	l.add(n, at(n))
	if err := e.bus.Publish(contract.DomainEventSubject("one", l.role), nil); err != nil {
		e.Fatal(err)
	}
}

func TestRegistryIsAway(t *testing.T) {
	e := newEnv(t)
	e.fill()
	e.fake.SetAway(true)
	if _, err := e.feed.List(t.Context(), all, nil, true, 10); fault.CodeOf(err) != "unavailable" {
		t.Errorf("list: %v", err)
	}
	for _, start := range []eventfeed.Start{{}, {Since: at(1)}} {
		if _, err := e.feed.Begin(t.Context(), all, start); fault.CodeOf(err) != "unavailable" {
			t.Errorf("start %+v: %v", start, err)
		}
	}
	got, cursor := e.follow(e.feed, all, eventfeed.Start{After: "r1.s0.p0"}, 3)
	e.same("without the registry", got, "s1", "s3", "s4")
	e.fake.SetAway(false)
	got, _ = e.follow(e.feed, all, eventfeed.Start{After: cursor}, 2)
	e.same("with it", got, "r3", "r5")

	// One follower, who sees the registry come back.
	e.fake.SetAway(true)
	var seen []string
	err := e.feed.Follow(t.Context(), all, eventfeed.Position{}, func(ev *eventv1.CloudEvent, _ string) error {
		if ev != nil {
			seen = append(seen, ev.GetSubject())
		}
		switch len(seen) {
		case 3:
			e.fake.SetAway(false)
		case 6:
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Error(err)
	}
	e.same("an outage", seen, "s1", "s3", "s4", "r2", "r3", "r5")
}

func TestSkippedEventsMoveTheCursor(t *testing.T) {
	e := newEnv(t)
	sel := eventfeed.Selection{Tenant: "one", Types: []string{"*.agent.*"}}
	err := e.registry.Write(t.Context(), e.registry.db.Write, func(_ sqldb.Tx, add func(eventlog.Event, error) error) error {
		for range 2500 {
			if err := add(eventlog.New("one", "dev.windlass.tool_group.updated.v1", "g", at(1), &eventv1.ToolGroupChange{})); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		testwant.Must(e.registry.Sequence(t.Context()))
	}
	var cursors []string
	err = e.feed.Follow(t.Context(), sel, eventfeed.Position{}, func(ev *eventv1.CloudEvent, c string) error {
		if ev != nil {
			t.Errorf("got %v", ev)
		}
		if cursors = append(cursors, c); len(cursors) == 2 {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) || cursors[1] != "r2500.s0.p0" {
		t.Errorf("%v: %q", err, cursors)
	}
}

func TestStoppedFeed(t *testing.T) {
	e := newEnv(t)
	err := e.feed.Follow(t.Context(), all, eventfeed.Position{}, func(*eventv1.CloudEvent, string) error {
		e.feed.Stop()
		e.feed.Stop()
		return nil
	})
	if !errors.Is(err, eventfeed.ErrStopped) {
		t.Error(err)
	}
}

func TestHostileCursors(t *testing.T) {
	e := newEnv(t)
	e.fill()
	for _, c := range []string{"r0.s0.p0", "r3.s3.p0"} {
		if _, err := e.feed.Begin(t.Context(), all, eventfeed.Start{After: c}); err != nil {
			t.Errorf("%q: %v", c, err)
		}
	}
	for _, c := range []string{
		"1", "r1", "r1.s1", "r1.s1.p", "s1.r1.p0", "r-1.s0.p0", "r+1.s0.p0", "r01.s0.p0", "r1.s1.x1", "R1.s1.p0", "r1.s1.p0 ", "r1e3.s1.p0",
		"r4.s3.p0", "r3.s4.p0", "r3.s3.p0.", "r3.s3.p0.q1", "r9223372036854775807.s0.p0", "r999999999999999999.s0.p0",
		"r1.s999999999999999999.p0", "r\x00.s1.p0", "r1.s\u0661.p0", strings.Repeat("r1.s1.", 100),
	} {
		if _, err := e.feed.Begin(t.Context(), all, eventfeed.Start{After: c}); !errors.Is(err, eventfeed.ErrCursor) {
			t.Errorf("%q: %v", c, err)
		}
	}
	if _, err := e.feed.List(t.Context(), all, &eventfeed.Position{9, 9}, true, 1); !errors.Is(err, eventfeed.ErrCursor) {
		t.Errorf("a page ahead of the events: %v", err)
	}
	e.fake.SetAway(true)
	from := testwant.Must(e.feed.Begin(t.Context(), all, eventfeed.Start{After: "r9.s0.p0"}))
	e.fake.SetAway(false)
	err := e.feed.Follow(t.Context(), all, from, func(*eventv1.CloudEvent, string) error { return nil })
	if !errors.Is(err, eventfeed.ErrCursor) {
		t.Errorf("a cursor that nobody could check: %v", err)
	}
}

func TestUnknownTypes(t *testing.T) {
	for pattern, want := range map[string]string{"*": "", "dev.windlass.tool.called.v1": "", "tool.called": "tool.called", "": ""} {
		sel := eventfeed.Selection{Types: []string{"dev.windlass.*", pattern}}
		if pattern == "" {
			sel.Types = nil
		}
		if got := sel.UnknownType(); got != want {
			t.Errorf("%q: %q", pattern, got)
		}
	}
}

// TestEventsOfPolicyFollowTheOthers also while policy cannot be asked.
func TestEventsOfPolicyFollowTheOthers(t *testing.T) {
	e := newEnv(t)
	e.fill()
	e.policy.add(6, at(6))
	got, cursor := e.follow(e.feed, all, eventfeed.Start{After: "r3.s3.p0"}, 1)
	e.same("with an event of policy", got, "p6")
	if cursor != "r3.s3.p1" {
		t.Errorf("after it the cursor is %s", cursor)
	}
	e.fakePolicy.SetAway(true)
	e.registry.add(7, at(7))
	got, _ = e.follow(e.feed, all, eventfeed.Start{After: cursor}, 1)
	e.same("while policy is away", got, "r7")
}
