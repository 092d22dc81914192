package e2e

import (
	"encoding/json"
	"os/exec"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestWorkerVersions takes a mesh from one version of its workers to the next while a turn waits.
func TestWorkerVersions(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{
		Config: harness.JSON{"worker": harness.JSON{"deployment": "windlass"}},
		WorkerEnv: map[string][]string{
			"worker-1": {"WINDLASS_WORKER_BUILD_ID=one"},
			"worker-2": {"WINDLASS_WORKER_BUILD_ID=two"},
		},
	})
	c := m.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "asker", "model": "builtin/scripted", "tools": []string{"mesh__ask_user"}})
	promote(t, m, "one")
	if out, err := versions(t, m, "promote", "three"); err == nil {
		t.Errorf("a version without workers was promoted: %s", out)
	}

	const input = `call:mesh__ask_user {"question":"go on?"} then say:done`
	old := c.Turn(c.Session("asker"), input)
	asked(c, old, "input.requested", 1)
	m.Start("worker-2")
	promote(t, m, "two")
	young := c.Turn(c.Session("asker"), input)
	asked(c, young, "input.requested", 1)
	for _, turn := range []string{old, young} {
		ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
		c.Must("POST", "/v1/approvals/"+ids[0].(string)+":answer", harness.JSON{"action": "accept", "content": harness.JSON{"answer": "yes"}})
		if end := c.Wait(turn); end.Str("output") != "done" {
			t.Errorf("turn = %v", end)
		}
		until(t, "workflow of "+turn+" is over", func() bool { return m.WorkflowClosed(turn) })
	}

	out, err := versions(t, m, "-o", "json")
	var list []struct {
		Build string `json:"build_id"`
		State string `json:"state"`
	}
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 2 {
		t.Fatalf("versions: %v\n%s", err, out)
	}
	for _, v := range list {
		if (v.Build == "two") != (v.State == "current") {
			t.Errorf("version %+v", v)
		}
	}
}

func promote(t *testing.T, m *harness.Mesh, build string) {
	t.Helper()
	until(t, "version "+build+" is promoted", func() bool { // refused until Temporal has seen its worker
		_, err := versions(t, m, "promote", build)
		return err == nil
	})
}

func versions(t *testing.T, m *harness.Mesh, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlassd"), append([]string{"versions", "--config", m.ConfigFile()}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
