// Package storetest is the suite that every engine of the registry store passes.
package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// Run runs the suite on the empty database at url.
func Run(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "registry", MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		rare := []string{
			"WHERE state = 'open' AND lease_us <", "FROM sources WHERE state", // few are open, and few there are
			"WHERE state IN ('open', $4)", // after a restore
			"WITH calls AS",               // which goes through what it has read by an index
		}
		plantest.Check(t, db, append(rare, eventlog.Scans()...)...)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 { // a second migration finds nothing to do
		if err := store.Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	s := suite{Store: store.New(db), other: store.New(db)}
	t.Run("sources", s.sources)
	t.Run("source revisions", s.revisions)
	t.Run("inventories", s.inventories)
	t.Run("definitions stay", s.definitionsStay)
	t.Run("colliding names", s.collisions)
	t.Run("many tools", s.manyTools)
	t.Run("ledger", s.ledger)
	t.Run("ledger under contention", s.contention)
	t.Run("late answers", s.lateAnswers)
	t.Run("resolved", s.resolved)
	t.Run("stops", s.stops)
	t.Run("orphans", s.orphans)
	t.Run("forget", s.forget)
	t.Run("executions by page", s.executions)
	t.Run("cached results", s.cached)
	t.Run("rows that are written later", s.later)
	t.Run("late rows of what is erased", s.late)
	t.Run("calls under way when they are erased", s.opensLate)
	t.Run("use of tools", s.toolUsage)
	t.Run("recent executions", s.recent)
	t.Run("tool groups", s.groups)
	t.Run("pinned definitions", s.drift)
	t.Run("documents", s.documents)
	t.Run("domain events", s.events)
	t.Run("domain events of calls", s.calledEvents)
}

type suite struct {
	store.Store
	other store.Store // of another replica
}

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

func source(tenant, name string) store.Source {
	return store.Source{
		Tenant: tenant, ID: "src_" + name, Name: name, Kind: "mcp", State: store.Pending, Revision: 1, CreateTime: begin, UpdateTime: begin,
		Spec: store.Spec{
			URL: "http://x/mcp", Headers: map[string]string{"X": "é \"quoted\""}, Effects: map[string]store.Effect{"add": store.Read},
			CallTimeout: 7,
		},
	}
}

func (s suite) create(t *testing.T, tenant, name string) store.Source {
	t.Helper()
	src := source(tenant, name)
	if err := s.CreateSource(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	return src
}

func (s suite) sources(t *testing.T) {
	src := s.create(t, "one", "b")
	for _, by := range []string{src.ID, src.Name} {
		got, err := s.Source(t.Context(), "one", by)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(src) {
			t.Errorf("Source(%s) = %+v, %v", by, got, err)
		}
	}
	if err := s.CreateSource(t.Context(), func() store.Source { x := source("one", "b"); x.ID = "src_other"; return x }()); !errors.Is(err,
		store.ErrExists) {
		t.Errorf("the name again: %v", err)
	}
	if _, err := s.Source(t.Context(), "two", src.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another tenant: %v", err)
	}
	s.create(t, "one", "a")
	s.create(t, "one", "c")
	page, err := s.Sources(t.Context(), "one", "a", 1)
	if err != nil || len(page) != 1 || page[0].Name != "b" {
		t.Errorf("page = %v, %v", page, err)
	}
	all, err := s.AllSources(t.Context())
	if err != nil || len(all) != 3 || all[0].Name != "a" {
		t.Errorf("all = %v, %v", all, err)
	}
	if err := s.DeleteSource(t.Context(), "one", src.ID); err != nil {
		t.Error(err)
	}
	if err := s.DeleteSource(t.Context(), "one", src.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted again: %v", err)
	}
}

func (s suite) revisions(t *testing.T) {
	src := s.create(t, "rev", "a")
	changed := src
	changed.Spec = store.Spec{Command: []string{"x", "y z"}}
	changed.Disabled = true
	if err := s.UpdateSource(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if err := s.UpdateSource(t.Context(), changed); !errors.Is(err, store.ErrChanged) {
		t.Errorf("an old revision: %v", err)
	}
	got, err := s.Source(t.Context(), "rev", "a")
	if err != nil || got.Revision != 2 || !got.Disabled || got.Spec.URL != "" || got.Spec.Command[1] != "y z" {
		t.Errorf("after: %+v, %v", got, err)
	}
	if err := s.SyncFailed(t.Context(), src, store.Unreachable, "old news"); err != nil {
		t.Error(err)
	}
	if _, err := s.ApplyInventory(t.Context(), src, inventory()); !errors.Is(err, store.ErrChanged) {
		t.Errorf("inventory of an old revision: %v", err)
	}
	if got, _ := s.Source(t.Context(), "rev", "a"); got.State != store.Pending || got.LastError != "" {
		t.Errorf("an old look changed the state: %+v", got)
	}
	if err := s.SyncFailed(t.Context(), got, store.Unreachable, "no route"); err != nil {
		t.Error(err)
	}
	if got, _ := s.Source(t.Context(), "rev", "a"); got.State != store.Unreachable || got.LastError != "no route" {
		t.Errorf("not noted: %+v", got)
	}
	if err := s.DeleteSource(t.Context(), "rev", src.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ApplyInventory(t.Context(), got, inventory()); !errors.Is(err, store.ErrChanged) {
		t.Errorf("inventory of a deleted source: %v", err)
	}
}

// inventory returns tools "name" or "name=raw".
func inventory(tools ...string) store.Inventory {
	inv := store.Inventory{ServerVersion: "srv 1", ProtocolVersion: "2025-11-25", Time: begin.Add(time.Hour)}
	for _, text := range tools {
		name, raw, ok := strings.Cut(text, "=")
		if !ok {
			raw = `{"name": "` + name + `" }`
		}
		inv.Tools = append(inv.Tools, store.Found{
			OriginalName: name, Description: "does " + name, Raw: []byte(raw), InputSchema: []byte(`{ "type":"object" }`), Effect: store.Once,
		})
	}
	return inv
}

func (s suite) apply(t *testing.T, src store.Source, tools ...string) store.Diff {
	t.Helper()
	d, err := s.ApplyInventory(t.Context(), src, inventory(tools...))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s suite) names(t *testing.T, tenant string) string {
	t.Helper()
	names, err := s.ToolNames(t.Context(), tenant, "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(names, " ")
}

func (s suite) inventories(t *testing.T) {
	src := s.create(t, "inv", "n")
	for i, row := range []struct {
		tools []string
		want  string // diff
		names string
	}{
		{[]string{"b", "add"}, "{[n__add n__b] [] [] [] 2}", "n__add n__b"},
		{[]string{"add", "b"}, "{[] [] [] [] 2}", "n__add n__b"},
		{[]string{"add={}", "c"}, "{[n__c] [n__b] [n__add] [] 2}", "n__add n__c"},
		{nil, "{[] [n__add n__c] [] [] 0}", ""},
		{[]string{"add={}", "b"}, "{[n__add n__b] [] [] [] 2}", "n__add n__b"},
	} {
		if got := fmt.Sprint(s.apply(t, src, row.tools...)); got != row.want {
			t.Errorf("step %d: diff %s, want %s", i, got, row.want)
		}
		if got := s.names(t, "inv"); got != row.names {
			t.Errorf("step %d: names %q", i, got)
		}
	}
	got, err := s.Source(t.Context(), "inv", "n")
	if err != nil || got.State != store.Ready || got.ToolCount != 2 || got.ServerVersion != "srv 1" ||
		!got.SyncTime.Equal(begin.Add(time.Hour)) {
		t.Errorf("source %+v, %v", got, err)
	}
	tool, err := s.Tool(t.Context(), "inv", "n__add")
	if err != nil || tool.OriginalName != "add" || tool.Effect != store.Read || tool.Source.Name != "n" || tool.Source.Spec.CallTimeout != 7 {
		t.Errorf("tool %+v, %v", tool, err)
	}
	full, err := s.Tools(t.Context(), "inv", []string{"n__add", "n__b", "n__none"})
	if err != nil || len(full) != 2 || full[0].Definition.Raw != nil || full[1].Effect != store.Once ||
		string(full[1].Definition.InputSchema) != `{ "type":"object" }` {
		t.Errorf("tools %+v, %v", full, err)
	}
	if _, err := s.Tool(t.Context(), "inv", "n__c"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a tool that is gone: %v", err)
	}
	off := got
	off.Disabled = true
	if err := s.UpdateSource(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	if s.names(t, "inv") != "" {
		t.Error("a source that is switched off offers tools")
	}
}

func (s suite) definitionsStay(t *testing.T) {
	src := s.create(t, "def", "n")
	s.apply(t, src, "a=old")
	old, err := s.Tool(t.Context(), "def", "n__a")
	if err != nil {
		t.Fatal(err)
	}
	s.apply(t, src, "a=new")
	now, err := s.Tool(t.Context(), "def", "n__a")
	if err != nil || now.DefinitionHash == old.DefinitionHash {
		t.Fatalf("definition did not change: %v", err)
	}
	other := s.create(t, "def", "m") // has an identical tool
	s.apply(t, other, "a=old")
	if err := s.DeleteSource(t.Context(), "def", src.ID); err != nil {
		t.Fatal(err)
	}
	twin, err := s.Tool(t.Context(), "def", "m__a")
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Definitions(t.Context(), "def", []string{old.DefinitionHash, now.DefinitionHash, twin.DefinitionHash, "none"})
	if err != nil || len(found) != 3 {
		t.Fatalf("definitions: %v, %v", found, err)
	}
	slices.SortFunc(found, func(a, b store.Definition) int { return strings.Compare(a.Name+string(a.Raw), b.Name+string(b.Raw)) })
	if found[0].Name != "m__a" || string(found[1].Raw) != "new" || string(found[2].Raw) != "old" || found[2].Source != "n" {
		t.Errorf("definitions: %+v", found)
	}
}

func (s suite) collisions(t *testing.T) {
	src := s.create(t, "col", "n")
	d := s.apply(t, src, "a.b", "a b", "a_b", strings.Repeat("x", 80), strings.Repeat("x", 81), "æ")
	names := strings.Fields(s.names(t, "col"))
	if len(names) != 6 || len(d.Added) != 6 {
		t.Fatalf("names: %v", names)
	}
	for _, n := range names {
		if len(n) > 64 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("bad name %q", n)
		}
	}
	if tool, err := s.Tool(t.Context(), "col", "n__a_b"); err != nil || tool.OriginalName != "a_b" {
		t.Errorf("the plain name is that of %q, %v: it belongs to the tool that has it", tool.OriginalName, err)
	}
	before := map[string]string{}
	for _, n := range names {
		tool, err := s.Tool(t.Context(), "col", n)
		if err != nil {
			t.Fatal(err)
		}
		before[tool.OriginalName] = n
	}
	s.apply(t, src)
	s.apply(t, src, "a_b")
	s.apply(t, src, "a_b", "a b", "a.b")
	for original, name := range before {
		if strings.HasPrefix(original, "a") {
			if tool, err := s.Tool(t.Context(), "col", name); err != nil || tool.OriginalName != original {
				t.Errorf("%q had the name %q before it went away and came back; now that is %q, %v", original, name, tool.OriginalName, err)
			}
		}
	}
	if _, err := s.ApplyInventory(t.Context(), src, inventory("a", "a")); err == nil {
		t.Error("two tools with one name are accepted")
	}
}

func (s suite) manyTools(t *testing.T) {
	src := s.create(t, "big", "n")
	var tools, want []string
	for i := range 1000 {
		tools = append(tools, fmt.Sprintf("t%03d", i))
		want = append(want, fmt.Sprintf("n__t%03d", i))
	}
	s.apply(t, src, tools...)
	full, err := s.Tools(t.Context(), "big", want)
	if err != nil || len(full) != 1000 || full[999].Name != "n__t999" {
		t.Fatalf("%d tools, %v", len(full), err)
	}
	page, err := s.ToolNames(t.Context(), "big", "n", "n__t499", 3)
	if err != nil || strings.Join(page, " ") != "n__t500 n__t501 n__t502" {
		t.Errorf("page %v, %v", page, err)
	}
	if page, err := s.ToolNames(t.Context(), "big", "other", "", 3); err != nil || len(page) != 0 {
		t.Errorf("another source: %v, %v", page, err)
	}
	n, sources, err := s.Counts(t.Context())
	if err != nil || n < 1000 || sources < 1 {
		t.Errorf("counts: %d, %d, %v", n, sources, err)
	}
}
