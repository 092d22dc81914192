package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAToolServerThatIsGone: the model is told, and the turn goes on.
func TestAToolServerThatIsGone(t *testing.T) {
	t.Parallel()
	c := client(t)
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0")
	c.Must("POST", "/v1/sources", harness.JSON{"name": "gone", "kind": "mcp", "url": server.Ready["url"]})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "gone", "model": "builtin/scripted", "tools": []string{"gone__*", "mesh__*"}})
	session := c.Session("gone")
	if end := c.Wait(c.Turn(session, `call:gone__echo {"message":"hello"}`)); end.Str("status") != "completed" ||
		!strings.Contains(end.Str("output"), "hello") {
		t.Fatalf("while it is there: %v", end)
	}
	server.Kill()
	turn := c.Turn(session, `call:gone__slow_once {"call_id":"c"} then call:mesh__uuid {} then say:on we go`)
	w := c.Watch("/v1/turns/" + turn + "/events")
	if end := c.Wait(turn); end.Str("status") != "completed" || end.Str("output") != "on we go" {
		t.Errorf("after it is gone: %v", end)
	}
	told := w.UntilType("tool_call.completed")
	if told.Data.Str("code") != "tool_unavailable" {
		t.Errorf("the model was told %v", told.Data)
	}
	row := execution(t, c, turn, "gone__slow_once")
	if row.Str("state") != "failed" {
		t.Errorf("the ledger has %v, want it failed: it was never sent", row)
	}
}

// TestAToolServerThatDiesInACall: the outcome of a ONCE call is unknown, so it is not repeated.
func TestAToolServerThatDiesInACall(t *testing.T) {
	t.Parallel()
	c := client(t)
	ledger := filepath.Join(t.TempDir(), "ledger")
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "dies", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty"), "--ledger", ledger},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "dies", "model": "builtin/scripted", "tools": []string{"dies__*"}})
	turn := c.Turn(c.Session("dies"), `call:dies__crash {"call_id":"c"} then call:dies__echo {"message":"again"} then say:on we go`)
	w := c.Watch("/v1/turns/" + turn + "/events")
	if end := c.Wait(turn); end.Str("status") != "completed" || end.Str("output") != "on we go" {
		t.Errorf("turn = %v", end)
	}
	if told := w.UntilType("tool_call.completed"); told.Data.Str("code") != "outcome_unknown" {
		t.Errorf("the model was told %v", told.Data)
	}
	w.UntilType("tool_call.unresolved")
	if n := lines(t, ledger, false); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
	if row := execution(t, c, turn, "dies__crash"); row.Str("state") != "unresolved" || row["attempts"] != 1.0 {
		t.Errorf("the ledger has %v", row)
	}
}

// execution reads the ledger's row of a tool in a turn.
func execution(t *testing.T, c *harness.Client, turn, tool string) harness.JSON {
	t.Helper()
	rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn+"&tool="+tool, nil)["executions"].([]any)
	if len(rows) != 1 {
		t.Fatalf("the ledger has %v for %s", rows, tool)
	}
	row, _ := rows[0].(map[string]any)
	return row
}
