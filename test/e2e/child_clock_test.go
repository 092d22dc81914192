package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAParentOutlivesTheWaitOfItsChild: a sub-agent waits for a person ten minutes, by the mesh's clock, while the turn that called it has
// one. Both are waiting then, and the answer lets both complete.
func TestAParentOutlivesTheWaitOfItsChild(t *testing.T) {
	t.Parallel()
	clock := filepath.Join(t.TempDir(), "clock")
	process := harness.LaunchFaultyUp(t, t.TempDir(), []string{"WINDLASS_FAULT_CLOCK=" + clock})
	process.Await()
	url, _ := process.Ready["url"].(string)
	c := harness.NewClient(t, url)
	guarded(c, "careful", 0)
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "boss", "model": "builtin/scripted", "agents": []string{"careful"}, "limits": harness.JSON{"turn_seconds": 60},
	})
	turn := c.Turn(c.Session("boss"), fmt.Sprintf("call:agent__careful {\"message\": %q} then say:done", "call:mesh__uuid {}"))
	var ids []any
	waiting := func() bool {
		now := c.Must("GET", "/v1/turns/"+turn, nil)
		ids, _ = now["waiting_for"].([]any)
		return now.Str("status") == "waiting" && len(ids) == 1
	}
	until(t, "both wait", waiting)
	harness.Must(t, os.WriteFile(clock, []byte((10*time.Minute).String()), 0o600))
	if !waiting() {
		t.Fatal("after ten minutes the turn waits no longer")
	}
	c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(turn); end.Str("status") != "completed" || end.Str("stop_reason") != "end" || end.Str("output") != "done" {
		t.Errorf("the turn ended as %v", end)
	}
}
