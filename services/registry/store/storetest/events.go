package storetest

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// recorded numbers and returns the events of a tenant, as type without its ends and subject.
func (s suite) recorded(t *testing.T, tenant string) (out []string, events []eventlog.Event) {
	t.Helper()
	if _, err := s.EventLog().Sequence(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := s.EventLog().Read(t.Context(), eventlog.Query{Tenant: tenant, Limit: 1000})
	if err != nil || !p.Done {
		t.Fatalf("events: %+v, %v", p, err)
	}
	for _, e := range p.Events {
		out = append(out, strings.TrimSuffix(strings.TrimPrefix(e.Type, "dev.windlass."), ".v1")+" "+e.Subject)
	}
	return out, p.Events
}

func data(t *testing.T, e eventlog.Event) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal(e.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// events checks that each change is recorded once, and nothing else.
func (s suite) events(t *testing.T) {
	ctx := authn.With(t.Context(), authn.User("ann"))
	src := source("events", "notes")
	src.Spec.Pin = true
	found := func(tools ...string) store.Inventory {
		in := store.Inventory{Time: begin}
		for _, name := range tools {
			in.Tools = append(in.Tools, store.Found{OriginalName: name[:1], Raw: []byte(`"` + name + `"`)})
		}
		return in
	}
	apply := func(tools ...string) {
		t.Helper()
		if _, err := s.ApplyInventory(ctx, src, found(tools...)); err != nil {
			t.Fatal(err)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.CreateSource(ctx, src))
	if err := s.CreateSource(ctx, src); !errors.Is(err, store.ErrExists) {
		t.Fatal(err)
	}
	apply("a", "b")
	apply("a", "b") // changes nothing
	must(s.SyncFailed(ctx, src, store.Unreachable, "connection refused"))
	must(s.SyncFailed(ctx, src, store.Unreachable, "connection refused"))
	must(s.SyncFailed(ctx, src, store.Invalid, "no document"))
	must(s.SyncFailed(ctx, src, store.Invalid, "no document"))
	apply("a2")
	drifts, err := s.Drifted(ctx, src)
	must(err)
	must(s.Accept(ctx, src, drifts, begin))
	must(s.UpdateSource(ctx, src))
	if err := s.UpdateSource(ctx, src); !errors.Is(err, store.ErrChanged) {
		t.Fatal(err)
	}
	must(s.SyncFailed(ctx, src, store.Unreachable, "of an earlier revision"))
	must(s.CreateGroup(ctx, store.Group{Tenant: "events", Name: "g"}))
	failed := errors.New("failed")
	for _, change := range []error{nil, failed} {
		if _, err := s.UpdateGroup(ctx, "events", "g", func(*store.Group) error { return change }); !errors.Is(err, change) {
			t.Fatal(err)
		}
	}
	must(s.DeleteGroup(ctx, "events", "g"))
	must(s.DeleteSource(ctx, "events", src.ID))
	if err := s.DeleteSource(ctx, "events", src.ID); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	got, events := s.recorded(t, "events")
	want := []string{
		"source.created notes", "source.ready notes", "inventory.ingested notes", "source.unreachable notes", "source.invalid notes",
		"source.ready notes", "inventory.ingested notes", "definitions.accepted notes", "source.updated notes", "tool_group.created g",
		"tool_group.updated g", "tool_group.deleted g", "source.deleted notes",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("events: %q", got)
	}
	if d := data(t, events[3]); d["error"] != "connection refused" || d["source_id"] != src.ID || d["actor"] != "ann" {
		t.Errorf("unreachable: %v", d)
	}
	if d := data(t, events[6]); d["removed_count"] != 1.0 || d["drifted_count"] != 1.0 || d["total"] != 1.0 ||
		len(d["added"].([]any)) != 0 || d["drifted"].([]any)[0] != "notes__a" {
		t.Errorf("ingested: %v", d)
	}
	if d := data(t, events[8]); d["revision"] != 2.0 {
		t.Errorf("updated: %v", d)
	}
}

// calledEvents checks that each end of an execution is recorded, and forgotten with its turn.
func (s suite) calledEvents(t *testing.T) {
	ctx := t.Context()
	open := func(id, turn string) store.Execution {
		t.Helper()
		e := store.Execution{
			Tenant: "called", ID: id, Key: id, Tool: "notes__put", Source: "notes", TurnID: turn, SessionID: "ses_1", Subject: "ann",
			Effect: store.Once,
			State:  store.Open, Attempts: 1, Owner: "lse_1", Lease: begin, CreateTime: begin,
		}
		if err := s.Open(ctx, e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	end := func(e store.Execution, state, code string) {
		t.Helper()
		e.State, e.Code, e.IsError, e.Result, e.Latency, e.EndTime = state, code, code != "", []byte("secret"), 1500*time.Microsecond, begin
		if err := s.Close(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	end(open("exe_1", "trn_1"), store.Done, "")
	waiting := open("exe_2", "")
	end(waiting, store.Waiting, "")
	lost := open("exe_3", "trn_2")
	if err := s.GiveUp(ctx, lost, begin); err != nil {
		t.Fatal(err)
	}
	end(lost, store.Failed, "tool_unavailable")
	open("exe_4", "trn_2")
	if n, err := s.GiveUpOrphans(ctx, begin.Add(1e9), begin); err != nil || n != 1 {
		t.Fatal(n, err)
	}
	hit := store.Execution{
		Tenant: "called", ID: "exe_6", Key: "exe_6", Tool: "notes__read", Source: "notes", TurnID: "trn_1", Effect: store.Read, State: store.Done,
		Cache: store.CacheHit, CreateTime: begin, EndTime: begin,
	}
	if err := s.Record(ctx, hit); err != nil {
		t.Fatal(err)
	}
	if err := s.Record(ctx, hit); !errors.Is(err, store.ErrExists) {
		t.Fatal(err)
	}
	stale := open("exe_5", "")
	stale.Attempts = 7
	if err := s.Close(ctx, stale); !errors.Is(err, store.ErrChanged) {
		t.Fatal(err)
	}
	_, events := s.recorded(t, "called")
	var got []string
	for _, e := range events {
		d := data(t, e)
		got = append(got, d["execution_id"].(string)+" "+d["status"].(string)+" "+d["code"].(string))
		if strings.Contains(string(e.Data), "secret") {
			t.Errorf("an event has content: %s", e.Data)
		}
	}
	want := []string{
		"exe_1 done ", "exe_3 unresolved outcome_unknown", "exe_3 failed tool_unavailable", "exe_4 unresolved outcome_unknown", "exe_6 done ",
	}
	if !slices.Equal(got, want) {
		t.Fatalf("events: %q", got)
	}
	if d := data(t, events[0]); d["latency_ms"] != 1.5 || d["effect"] != "once" || d["principal"] != "ann" || d["turn_id"] != "trn_1" ||
		d["attempts"] != 1.0 || d["source"] != "notes" {
		t.Errorf("called: %v", d)
	}
	if d := data(t, events[4]); d["cache"] != "hit" || d["attempts"] != 0.0 {
		t.Errorf("answered from the cache: %v", d)
	}
	if _, err := s.Forget(ctx, "called", []string{"trn_2"}); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.recorded(t, "called"); len(got) != 2 {
		t.Errorf("after the turn was forgotten: %q", got)
	}
}
