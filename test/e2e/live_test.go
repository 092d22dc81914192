package e2e

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// faultyCommand is the tool server that changes its tools on request.
func faultyCommand(t *testing.T) []string { return []string{harness.Bin(t, "examples/faulty")} }

// A running turn keeps its blueprint, whatever happens to the agent meanwhile.
func TestARunningTurnKeepsItsRevision(t *testing.T) {
	t.Parallel()
	c := client(t)
	release := filepath.Join(t.TempDir(), "release")
	c.Must("POST", "/v1/sources", harness.JSON{"name": "pinned", "kind": "mcp", "command": faultyCommand(t)})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "pinned", "model": "builtin/scripted", "tools": []string{"pinned__*", "calculator__*"}})
	session := c.Session("pinned")
	turn := c.Turn(session, `call:pinned__slow_once {"release_file":"`+release+`"} then call:calculator__evaluate {"expression":"6*7"}`)
	c.Watch("/v1/turns/" + turn + "/events").UntilType("tool_call.executing")

	changed := c.Must("PATCH", "/v1/agents/pinned", harness.JSON{"tools": []string{"notes__*"}, "instructions": "another"})
	if changed["revision"] != 2.0 {
		t.Errorf("the change makes revision %v", changed["revision"])
	}
	if same := c.Must("PATCH", "/v1/agents/pinned", harness.JSON{"instructions": "another"}); same["revision"] != 2.0 {
		t.Errorf("a change that changes nothing makes revision %v", same["revision"])
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := c.Wait(turn)
	if old["blueprint_revision"] != 1.0 || old.Str("status") != "completed" || !strings.Contains(old.Str("output"), "42") {
		t.Errorf("the running turn came to %v", old)
	}
	next := c.Wait(c.Turn(session, `call:calculator__evaluate {"expression":"6*7"}`))
	if next["blueprint_revision"] != 2.0 || next.Str("status") != "completed" || strings.Contains(next.Str("output"), "42") {
		t.Errorf("the next turn came to %v, want the tool to be unknown to it", next)
	}
	revisions, _ := c.Must("GET", "/v1/agents/pinned/revisions", nil)["revisions"].([]any)
	first := c.Must("GET", "/v1/agents/pinned?revision=1", nil)
	if tools, _ := first["tools"].([]any); len(revisions) != 2 || len(tools) != 2 || first.Str("instructions") != "" {
		t.Errorf("%d revisions, the first is %v", len(revisions), first)
	}
}

// A tool that a server adds at run time is usable at once: the server announces it, and Windlass syncs.
func TestToolsComeAndGoAtRunTime(t *testing.T) {
	t.Parallel()
	c := client(t)
	overHTTP := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0")
	for name, source := range map[string]harness.JSON{
		"live-stdio": {"command": faultyCommand(t)}, "live-http": {"url": overHTTP.Ready["url"]},
	} {
		t.Run(name, func(t *testing.T) {
			source["name"], source["kind"] = name, "mcp"
			c.Must("POST", "/v1/sources", source)
			c.Must("POST", "/v1/agents", harness.JSON{"id": name, "model": "builtin/scripted", "tools": []string{name + "__*"}})
			extra := name + "__extra"
			there := func(want bool) func() bool {
				return func() bool {
					status, _, err := c.Do(t.Context(), "GET", "/v1/tools/"+extra, nil)
					return err == nil && status == map[bool]int{true: 200, false: 404}[want]
				}
			}
			if !there(false)() {
				t.Fatal("the tool is there before it was added")
			}
			invoke(c, name+"__add_tool", harness.JSON{"name": "extra", "description": "One more."})
			await(t, "the new tool", there(true))
			if got := c.Must("GET", "/v1/tools/"+extra, nil); got.Str("description") != "One more." || got["available"] != true {
				t.Errorf("tool = %v", got)
			}
			turn := c.Wait(c.Turn(c.Session(name), "call:extra {\"message\":\"brand new\"}"))
			if used, _ := turn["tools_used"].([]any); !slices.Contains(used, any(extra)) || !strings.Contains(turn.Str("output"), "brand new") {
				t.Errorf("a turn with the new tool came to %v", turn)
			}
			invoke(c, name+"__add_tool", harness.JSON{"name": "extra", "description": "Another text."})
			await(t, "the new description", func() bool {
				return c.Must("GET", "/v1/tools/"+extra, nil).Str("description") == "Another text."
			})
			invoke(c, name+"__remove_tool", harness.JSON{"name": "extra"})
			await(t, "the end of the tool", there(false))
		})
	}
}

// A source that is unreachable is kept, retried, and works once a server answers.
func TestAnUnreachableSourceBecomesReady(t *testing.T) {
	t.Parallel()
	c := client(t)
	address := freeAddress(t)
	src := c.Must("POST", "/v1/sources", harness.JSON{"name": "late", "kind": "mcp", "url": "http://" + address + "/mcp"})
	if src.Str("state") != "unreachable" || !strings.Contains(src.Str("last_error"), "refused") || src["tool_count"] != 0.0 {
		t.Errorf("source = %v", src)
	}
	if status, out, err := c.Do(t.Context(), "POST", "/v1/sources/late:sync", harness.JSON{}); err != nil || status != 503 ||
		out.Str("code") != "tool_unavailable" {
		t.Errorf("a sync of it answers %d %v %v", status, out, err)
	}
	harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", address)
	await(t, "the source", func() bool { return c.Must("GET", "/v1/sources/late", nil).Str("state") == "ready" })
	src = c.Must("GET", "/v1/sources/late", nil)
	if src.Str("last_error") != "" || src["tool_count"] == 0.0 || src.Str("sync_time") == "" {
		t.Errorf("source = %v", src)
	}
	got := invoke(c, "late__echo", harness.JSON{"message": "hello"})
	if content, _ := got["content"].([]any); got["is_error"] == true || !strings.Contains(text(content), "hello") {
		t.Errorf("its tool says %v", got)
	}
}

func TestSyncTellsWhatChanged(t *testing.T) {
	t.Parallel()
	c := client(t)
	server := newToolServer(t, map[string]string{"stays": "a", "goes": "b", "changes": "c"})
	src := c.Must("POST", "/v1/sources", harness.JSON{"name": "sync", "kind": "mcp", "url": server.URL})
	if src.Str("state") != "ready" || src["tool_count"] != 3.0 {
		t.Fatalf("source = %v", src)
	}
	server.set(map[string]string{"stays": "a", "changes": "other", "comes": "d", "comes-too": "e"})
	check := func(path string, want map[string][]string, total float64) {
		t.Helper()
		got := c.Must("POST", path, harness.JSON{})
		for key, names := range want {
			list, _ := got[key].([]any)
			var have []string
			for _, v := range list {
				if name, _ := v.(string); strings.HasPrefix(name, "sync__") {
					have = append(have, name)
				}
			}
			slices.Sort(have)
			if !slices.Equal(have, names) {
				t.Errorf("%s: %s is %v, want %v", path, key, have, names)
			}
		}
		if total > 0 && got["total"] != total {
			t.Errorf("%s: total is %v, want %v", path, got["total"], total)
		}
	}
	check("/v1/sources/sync:sync", map[string][]string{
		"added": {"sync__comes", "sync__comes-too"}, "removed": {"sync__goes"},
		"changed": {"sync__changes"},
	}, 4)
	check("/v1/sources/sync:sync", map[string][]string{"added": nil, "removed": nil, "changed": nil}, 4)
	server.set(map[string]string{"stays": "a"})
	check("/v1/tools:refresh", map[string][]string{
		"added": nil, "removed": {"sync__changes", "sync__comes", "sync__comes-too"},
		"changed": nil,
	}, 0)

	server.CloseClientConnections()
	server.Close()
	refresh := c.Must("POST", "/v1/tools:refresh", harness.JSON{})
	failed, _ := refresh["failed"].([]any)
	if !slices.ContainsFunc(failed, func(v any) bool { s, _ := v.(string); return strings.HasPrefix(s, "sync: ") }) {
		t.Errorf("a refresh without the server tells %v", refresh)
	}
	if tool := c.Must("GET", "/v1/tools/sync__stays", nil); tool["available"] != false {
		t.Errorf("the tool of a lost source is %v", tool)
	}
}

func TestTheOperatorSetsEffects(t *testing.T) {
	t.Parallel()
	c := client(t)
	server := newToolServer(t, map[string]string{"plain": "says nothing of its effect"})
	effect := func() string { return c.Must("GET", "/v1/tools/effects__plain", nil).Str("effect") }
	c.Must("POST", "/v1/sources", harness.JSON{"name": "effects", "kind": "mcp", "url": server.URL})
	if got := effect(); got != "once" {
		t.Errorf("a tool that says nothing is %q", got)
	}
	for _, want := range []string{"read", "idempotent"} {
		c.Must("PATCH", "/v1/sources/effects", harness.JSON{"effects": harness.JSON{"plain": want}})
		if got := effect(); got != want {
			t.Errorf("the operator says %q, the tool is %q", want, got)
		}
		id := invoke(c, "effects__plain", nil).Str("execution_id")
		rows, _ := c.Must("GET", "/v1/executions?tool=effects__plain&page_size=1", nil)["executions"].([]any)
		if row, _ := rows[0].(map[string]any); row["id"] != id || row["effect"] != want {
			t.Errorf("the ledger has %v, want %s as %q", rows, id, want)
		}
	}
	c.Must("PATCH", "/v1/sources/effects?update_mask=effects", harness.JSON{})
	if got := effect(); got != "once" {
		t.Errorf("after the operator took it back the tool is %q", got)
	}
}

// freeAddress returns an address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
