package e2e

import (
	"net/url"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestCacheAndAnalytics calls a tool of a real server directly and from turns, and reads what is known about the calls.
func TestCacheAndAnalytics(t *testing.T) {
	t.Parallel()
	c := client(t)
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0")
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "insight", "kind": "mcp", "url": server.Ready["url"], "effects": harness.JSON{"echo": "read"},
		"cache": harness.JSON{"tool_ttl_seconds": harness.JSON{"echo": 60}},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "insight", "model": "builtin/scripted", "tools": []string{"insight__*"}})
	invoke := func(want bool) {
		t.Helper()
		got := c.Must("POST", "/v1/tools/insight__echo:invoke", harness.JSON{"arguments": harness.JSON{"message": "hello"}})
		if got["cached"] != want {
			t.Errorf("cached %v, want %v: %v", got["cached"], want, got)
		}
	}
	before := c.Must("GET", "/v1/tool-cache", nil)
	if before["available"] != true {
		t.Fatalf("the cache: %v", before)
	}
	invoke(false)
	invoke(true)
	turn := c.Turn(c.Session("insight"), `call:insight__echo {"message":"hello"} then call:insight__echo {"message":"hello"} then say:done`)
	if end := c.Wait(turn); end.Str("output") != "done" {
		t.Fatalf("turn: %v", end)
	}
	var uses []string
	rows, _ := c.Must("GET", "/v1/executions?source=insight&turn_id="+turn, nil)["executions"].([]any)
	for _, row := range rows {
		e, _ := row.(map[string]any)
		uses = append(uses, harness.JSON(e).Str("cache"))
	}
	if got := strings.Join(uses, " "); got != "miss hit" {
		t.Errorf("the turn's calls, newest first: %q; want a hit, and a call again when the turn repeats it", got)
	}
	c.Must("POST", "/v1/tool-cache:clear", harness.JSON{"tool": "insight__echo"})
	invoke(false)

	stats, _ := c.Must("GET", "/v1/analytics/tools?period=3600s&source=insight", nil)["tools"].([]any)
	if len(stats) != 1 {
		t.Fatalf("analytics: %v", stats)
	}
	usage, _ := stats[0].(map[string]any)
	if usage["calls"] != 5.0 && usage["calls"] != "5" || usage["cache_hit_rate"] != 0.4 || usage["error_rate"] != 0.0 {
		t.Errorf("analytics: %v", usage)
	}
	recent, _ := c.Must("GET", "/v1/analytics/recent?limit=1&tool="+url.QueryEscape("insight__echo"), nil)["executions"].([]any)
	last, _ := recent[0].(map[string]any)
	if e := harness.JSON(last); e.Str("input") != `{"message":"hello"}` || !strings.Contains(e.Str("output"), "hello") || e.Str("cache") != "miss" {
		t.Errorf("the last call: %v", last)
	}
	if e := c.Must("GET", "/v1/executions/"+harness.JSON(last).Str("id"), nil); e.Str("tool") != "insight__echo" {
		t.Errorf("got %v", e)
	}
	if s := c.Must("GET", "/v1/analytics/sessions", nil); s["total"] == 0.0 || s["active_last_hour"] == 0.0 {
		t.Errorf("sessions: %v", s)
	}
}
