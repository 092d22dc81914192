package crash

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// Everything dies while a sub-agent runs a ONCE tool. The sub-agent is started once, its tool acts once, and the parent gets its answer
// once.
func TestUpKilledWhileSubAgentWorks(t *testing.T) {
	u := newUp(t)
	u.client.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "url": u.serveTools(t)})
	u.client.Must("POST", "/v1/agents", harness.JSON{"id": "worker", "model": "builtin/scripted", "tools": []string{"faulty__*"}})
	u.client.Must("POST", "/v1/agents", harness.JSON{"id": "a", "model": "builtin/scripted", "agents": []string{"worker"}})
	inner := fmt.Sprintf(`call:faulty__slow_once {"call_id": "once", "argument": "pay", "release_file": %q} say:paid`, u.release)
	u.begin(fmt.Sprintf("call:agent__worker {\"message\": %q} say:done", inner))
	u.awaitTool()
	u.process.Kill()
	u.letToolReturn()
	u.again()
	if end := u.client.Wait(u.turn); end.Str("status") != "completed" || end.Str("output") != "done" {
		t.Errorf("turn = %v", end)
	}
	if n := len(u.acts()); n != 1 {
		t.Errorf("the tool acted %d times: %v", n, u.acts())
	}
	live := u.watcher.End()
	harness.CheckStream(t, live)
	var children []string
	for _, e := range live {
		if strings.HasPrefix(e.Type, "child.") {
			children = append(children, e.Type)
		}
	}
	if got := strings.Join(children, " "); got != "child.started child.completed" {
		t.Errorf("the parent was told %s", got)
	}
	tree := u.client.Must("GET", "/v1/turns/"+u.turn+"/tree", nil)
	if below, _ := tree["children"].([]any); len(below) != 1 {
		t.Errorf("%d children, want 1", len(below))
	}
}
