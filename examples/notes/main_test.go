package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/client"

	"github.com/windlass-dev/windlass/examples/internal/toolservertest"
	"github.com/windlass-dev/windlass/examples/notes/notebook"
)

func TestMain(m *testing.M) { toolservertest.Main(m, main) }

type listing struct {
	Notes []struct{ ID, Title, Excerpt string }
	Total int
}

func TestNotesSurviveRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "notes")
	c := toolservertest.Stdio(t, "--dir", dir)
	created := toolservertest.Call[notebook.Note](t, c, "create",
		map[string]any{"title": "Groceries", "text": "milk and bread", "tags": []string{"Home", "home"}})
	if err := c.Close(); err != nil {
		t.Fatalf("stop the first server: %v", err)
	}

	c = toolservertest.Dial(t, toolservertest.HTTP(t, "--dir", dir))
	read := toolservertest.Call[notebook.Note](t, c, "read", map[string]any{"id": created.ID})
	if read.String() != created.String() || read.Text != "milk and bread" || len(read.Tags) != 1 || read.Tags[0] != "home" {
		t.Errorf("read %+v, created %+v", read, created)
	}
	found := toolservertest.Call[listing](t, c, "search", map[string]any{"query": "BREAD home"})
	if found.Total != 1 || found.Notes[0].ID != created.ID {
		t.Errorf("search: %+v", found)
	}
	if got := toolservertest.Call[listing](t, c, "search", map[string]any{"query": "bread wine"}); got.Total != 0 {
		t.Errorf("search for a word that is not there: %+v", got)
	}
	for _, want := range []bool{true, false} {
		got := toolservertest.Call[struct{ Deleted bool }](t, c, "delete", map[string]any{"id": created.ID})
		if got.Deleted != want {
			t.Errorf("deleted %t, want %t", got.Deleted, want)
		}
	}
	text := toolservertest.CallError(t, c, "read", map[string]any{"id": created.ID})
	if !strings.Contains(text, "note not found") {
		t.Errorf("read of a deleted note: %s", text)
	}
}

func TestListIsNewestFirstAndLimited(t *testing.T) {
	c := toolservertest.Stdio(t, "--dir", t.TempDir())
	for _, title := range []string{"one", "two", "three"} {
		toolservertest.Call[notebook.Note](t, c, "create", map[string]any{"title": title, "text": title, "tags": []string{title[:1]}})
	}
	got := toolservertest.Call[listing](t, c, "list", map[string]any{"limit": 2})
	if got.Total != 3 || len(got.Notes) != 2 || got.Notes[0].Title != "three" || got.Notes[1].Title != "two" {
		t.Errorf("list: %+v", got)
	}
	if got = toolservertest.Call[listing](t, c, "list", map[string]any{"tag": "T"}); got.Total != 2 {
		t.Errorf("list by tag: %+v", got)
	}
}

// TestServersShareADirectory: the number of files is the number of creations by all servers.
func TestServersShareADirectory(t *testing.T) {
	dir := t.TempDir()
	a, b := toolservertest.Stdio(t, "--dir", dir), toolservertest.Dial(t, toolservertest.HTTP(t, "--dir", dir))
	const each = 10
	var calls sync.WaitGroup
	for range each {
		for _, c := range []*client.Client{a, b} {
			calls.Go(func() {
				request := toolservertest.Request("create", map[string]any{"title": "t", "text": "x"}, nil)
				if result, err := c.CallTool(t.Context(), request); err != nil || result.IsError {
					t.Errorf("create: %v %v", result, err)
				}
			})
		}
	}
	calls.Wait()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2*each {
		t.Errorf("%d files, want %d (%v)", len(files), 2*each, err)
	}
	if got := toolservertest.Call[listing](t, b, "list", map[string]any{}); got.Total != 2*each {
		t.Errorf("%d notes, want %d", got.Total, 2*each)
	}
}

func TestEffectsAreDeclared(t *testing.T) {
	tools := toolservertest.Tools(t, toolservertest.Stdio(t, "--dir", t.TempDir()))
	for name, want := range map[string]struct{ readOnly, idempotent bool }{
		"create": {false, false}, "delete": {false, true},
		"list": {true, true}, "search": {true, true}, "read": {true, true}, "health_check": {true, true},
	} {
		hints := tools[name].Annotations
		if hints.ReadOnlyHint == nil || *hints.ReadOnlyHint != want.readOnly ||
			hints.IdempotentHint == nil || *hints.IdempotentHint != want.idempotent {
			t.Errorf("%s: %+v", name, hints)
		}
	}
	if len(tools) != 6 {
		t.Errorf("%d tools, want 6", len(tools))
	}
}
