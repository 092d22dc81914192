package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpg"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestStopReachesTheRegistryThatRunsTheCall: one registry is asked to stop a call that another process runs, and the tool server is told.
func TestStopReachesTheRegistryThatRunsTheCall(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "ledger")
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"database": harness.JSON{"url": testpg.URL(t)}}})
	c := m.Client
	other := registryv1.NewToolExecutionServiceClient(m.Replica("registry"))
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", ledger)
	c.Must("POST", "/v1/sources", harness.JSON{"name": "far", "kind": "mcp", "url": server.Ready["url"]})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a", "model": "builtin/scripted", "tools": []string{"far__*"}})
	turn := c.Turn(c.Session("a"), fmt.Sprintf(`call:far__slow_once {"call_id":"c"} then say:%s`, "on we go"))
	if !harness.Eventually(time.Minute, func() bool { return lines(t, ledger, false) == 1 }) {
		t.Fatal("the tool server gets no call")
	}
	from := time.Now()
	resp, err := other.StopCall(t.Context(), &registryv1.StopCallRequest{Key: execution(t, c, turn, "far__slow_once").Str("key")})
	if err != nil || !resp.GetStopped() {
		t.Fatalf("the other registry says %v, %v", resp, err)
	}
	if !harness.Eventually(max(maxReach-time.Since(from), time.Millisecond), func() bool { return lines(t, ledger, true) == 1 }) {
		t.Errorf("after %v the tool server was not told", time.Since(from))
	}
	if end := c.Wait(turn); end.Str("status") != "completed" || end.Str("output") != "on we go" {
		t.Errorf("turn = %v", end)
	}
	if row := execution(t, c, turn, "far__slow_once"); row.Str("state") != "unresolved" {
		t.Errorf("the ledger has %v, want it unresolved", row)
	}
}
