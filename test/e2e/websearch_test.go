package e2e

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestToolsGrowWithoutARestart starts and stops a tool server while the mesh runs: its tools come and go, and the others stay.
func TestToolsGrowWithoutARestart(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	c := up.Client
	tools := func() int {
		var usable int
		list, _ := c.Must("GET", "/v1/tools?page_size=1000", nil)["tools"].([]any)
		for _, item := range list {
			if tool, _ := item.(map[string]any); tool["available"] == true && !strings.HasPrefix(harness.JSON(tool).Str("name"), "mesh__") {
				usable++
			}
		}
		return usable
	}
	before := tools()
	server := harness.Start(t, "websearch", nil, harness.Bin(t, "examples/websearch"), "--http", "127.0.0.1:0")
	c.Must("POST", "/v1/sources", harness.JSON{"name": "web", "kind": "mcp", "url": server.Ready["url"]})
	if got := tools(); got != before+3 {
		t.Errorf("%d tools became %d", before, got)
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "finder", "model": "builtin/scripted", "tools": []string{"web__*", "calculator__*"}})
	got := c.Wait(c.Turn(c.Session("finder"), `call:search {"query":"anchor"} then call:evaluate {"expression":"6*7"}`))
	if got.Str("status") != "completed" || !strings.Contains(got.Str("output"), "42") {
		t.Errorf("turn = %v", got)
	}
	found := text(invoke(c, "web__search", harness.JSON{"query": "anchor"})["content"].([]any))
	if !strings.Contains(found, "What a windlass is") || !strings.Contains(found, "not the web") {
		t.Errorf("found %s", found)
	}
	server.Kill()
	if status, _, err := c.Do(t.Context(), "POST", "/v1/sources/web:sync", harness.JSON{}); err != nil || status != 503 {
		t.Errorf("sync of a server that is gone: %d, %v", status, err)
	}
	if got := tools(); got != before {
		t.Errorf("with the server gone there are %d tools, not %d", got, before)
	}
	if got := text(invoke(c, "calculator__evaluate", harness.JSON{"expression": "6*7"})["content"].([]any)); !strings.Contains(got, "42") {
		t.Errorf("another tool: %s", got)
	}
}
