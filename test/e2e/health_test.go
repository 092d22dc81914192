package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// health asks a gateway how it is, until it says what is wanted.
func health(t *testing.T, c *harness.Client, want func(status int, got harness.JSON) bool) harness.JSON {
	t.Helper()
	var got harness.JSON
	asked := func() bool {
		status, out, err := c.Do(t.Context(), "GET", "/readyz", nil)
		got = out
		return err == nil && want(status, got)
	}
	if !harness.Eventually(time.Minute, asked) {
		t.Fatalf("/readyz says %v", got)
	}
	return got
}

// degradedBy returns a condition for health: calls are accepted, and a check says why some wait.
func degradedBy(check, cause string) func(int, harness.JSON) bool {
	return func(status int, got harness.JSON) bool {
		checks, _ := got["checks"].(map[string]any)
		causes, _ := got["causes"].(map[string]any)
		why, _ := causes[check].(map[string]any)
		text, _ := why["cause"].(string)
		return status == http.StatusOK && got.Str("status") == "degraded" && checks[check] == "degraded" && strings.Contains(text, cause)
	}
}

func isReady(status int, got harness.JSON) bool {
	return status == http.StatusOK && got.Str("status") == "ready"
}

// doctor runs `windlass doctor` and compares its exit code.
func doctor(t *testing.T, c *harness.Client, code int, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), append([]string{"doctor", "--server", c.Base}, args...)...)
	cmd.Env = append(os.Environ(), "WINDLASS_TOKEN="+c.Token())
	out, _ := cmd.CombinedOutput() // the exit code tells
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("doctor %v ends with %d, want %d:\n%s", args, got, code, out)
	}
	return string(out)
}

func wantLines(t *testing.T, out string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(out, line) {
			t.Errorf("%q is not in\n%s", line, out)
		}
	}
}

// TestHealthNamesTheCause: a mesh of processes says what it lacks at /readyz, in doctor and at a queued turn, and a probe says which part
// of a turn's way failed.
func TestHealthNamesTheCause(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(int, []any) harness.Answer { return harness.Answer{Words: []string{"ok"}} })
	m := harness.Split(t, harness.SplitOptions{Model: model, Absent: []string{"worker-1"}})
	c := m.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "a"})

	t.Log("no worker")
	health(t, c, degradedBy("workers", "no worker runs"))
	wantLines(t, doctor(t, c, 0), "warning  workers", "Start a process with the role worker")
	session := c.Session("a")
	first, second := c.Turn(session, "hello"), c.Turn(session, "again")
	pending := func(turn string) harness.JSON {
		return c.Must("GET", "/v1/turns/"+turn, nil)["pending"].(map[string]any)
	}
	if p := pending(first); p.Str("reason") != "mesh" || !strings.Contains(p.Str("detail"), "no worker runs") || p.Str("action") == "" {
		t.Errorf("the first turn waits for %v", p)
	}
	if p := pending(second); p.Str("reason") != "preceding_turn" || p.Str("preceding_turn_id") != first {
		t.Errorf("the second turn waits for %v", p)
	}
	wantLines(t, doctor(t, c, 1, "--probe", "--timeout", "2s"), "ok       probe: accept",
		"broken   probe: begin         no worker has begun the turn within 2s: no worker runs")

	t.Log("a worker")
	m.Start("worker-1")
	health(t, c, isReady)
	c.Wait(first)
	if turn := c.Wait(second); turn["pending"] != nil {
		t.Errorf("a turn that ended waits for %v", turn["pending"])
	}
	wantLines(t, doctor(t, c, 0, "--probe"), "ok       workers", "ok       probe: begin", "ok       probe: model", "ok       probe: end")
	if agents := c.Must("GET", "/v1/agents", nil)["agents"].([]any); len(agents) != 1 {
		t.Errorf("probes left agents behind: %v", agents)
	}

	t.Log("no Temporal")
	m.Kill("temporal")
	health(t, c, degradedBy("temporal", "Temporal does not answer"))
	wantLines(t, doctor(t, c, 0), "warning  temporal")
	m.Start("temporal")
	health(t, c, isReady)

	t.Log("no model")
	model.Close()
	health(t, c, degradedBy("model test", "test cannot be reached"))
	wantLines(t, doctor(t, c, 1, "--probe"), "warning  model test", "broken   probe: model         model_unavailable")
}
