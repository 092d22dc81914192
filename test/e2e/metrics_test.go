package e2e

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

var ofTurns = regexp.MustCompile(`(?m)^windlass_(\w+?)(?:\{([^}]*)\})? (\S+)$`)

// samples reads the values of Windlass' own metrics, by name and labels.
func samples(t *testing.T, c *harness.Client) map[string]string {
	t.Helper()
	resp, err := c.HTTP.Get(c.Base + "/metrics")
	harness.Must(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %d %v", resp.StatusCode, err)
	}
	all := map[string]string{}
	for _, m := range ofTurns.FindAllStringSubmatch(string(raw), -1) {
		all[m[1]+" "+strings.ReplaceAll(m[2], `"`, "")] = m[3]
	}
	return all
}

// TestMetricsCountEachTurnOnce: what is counted of turns is what the API lists, and a mesh that is killed with SIGKILL loses nothing of it.
func TestMetricsCountEachTurnOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := harness.Up(t, dir, nil)
	up.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful", "model": "builtin/scripted", "tools": []string{"*"},
		"approvals": []harness.JSON{{"name": "all", "tools": []string{"calculator__evaluate"}, "allow_requester": true}},
	})
	for _, input := range []string{"say:one", "say:two", "fail:always"} {
		up.Client.Wait(up.Client.Turn(up.Client.Session("assistant"), input))
	}
	waiting := up.Client.Turn(up.Client.Session("careful"), `call:calculator__evaluate {"expression":"1 + 1"}`)
	if !harness.Eventually(time.Minute, func() bool { return up.Client.Must("GET", "/v1/turns/"+waiting, nil)["status"] == "waiting" }) {
		t.Fatal("the turn does not wait for its approval")
	}
	check := func(when string) {
		t.Helper()
		want := map[string]string{
			"turns state=queued": "0", "turns state=running": "0", "turns state=waiting": "1", "approvals_pending ": "1", "unresolved_calls ": "0",
			"outbox_depth ": "0", "oldest_queued_turn_seconds ": "0",
			"turns_total outcome=completed,stop_reason=end": "2", "turns_total outcome=failed,stop_reason=error": "1",
		}
		var got map[string]string
		same := harness.Eventually(time.Minute, func() bool {
			got = samples(t, up.Client)
			for name, value := range want {
				if got[name] != value {
					return false
				}
			}
			return got["approvals_oldest_seconds "] != "0"
		})
		if !same {
			t.Errorf("%s: the metrics are %v, want %v", when, got, want)
		}
	}
	check("before the kill")
	if got := samples(t, up.Client); got["turn_seconds_count outcome=completed"] != "2" || got["first_token_seconds_count "] != "3" {
		t.Errorf("two turns with answers and one with a call are measured as %v", got)
	}
	up.Kill()
	up = harness.Up(t, dir, nil)
	check("after it")
	version := false
	for name := range samples(t, up.Client) {
		version = version || strings.HasPrefix(name, "build_info ") && strings.Contains(name, "version=")
	}
	if !version {
		t.Error("there is no windlass_build_info with a version")
	}
}
