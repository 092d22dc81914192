package e2e

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/metrics"
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
	table := map[string]bool{}
	for _, name := range metrics.All().Series() {
		table[strings.TrimPrefix(name, "windlass_")] = true
	}
	for name := range samples(t, up.Client) {
		name, _, _ = strings.Cut(name, " ")
		of := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		if !table[name] && !table[of] {
			t.Errorf("windlass_%s is not in the table of metrics", name)
		}
	}
	version := false
	for name := range samples(t, up.Client) {
		version = version || strings.HasPrefix(name, "build_info ") && strings.Contains(name, "version=")
	}
	if !version {
		t.Error("there is no windlass_build_info with a version")
	}
}

// TestTotalsEqualTheJournal: after kills with SIGKILL in the middle of turns, what Prometheus reads of turns, calls, tokens and cost is
// what the API says of the turns.
func TestTotalsEqualTheJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "windlass.yaml")
	if err := os.WriteFile(file, []byte(priced), 0o600); err != nil {
		t.Fatal(err)
	}
	up := harness.Up(t, filepath.Join(dir, "data"), nil, "--config", file)
	var turns []string
	for range 2 {
		for _, input := range []string{
			`call:calculator__evaluate {"expression":"1 + 1"} then slow:20 tokens:40`, "slow:20 tokens:60", "say:hello", "fail:always",
		} {
			turns = append(turns, up.Client.Turn(up.Client.Session("assistant"), input))
		}
		up.Client.Watch("/v1/turns/"+turns[len(turns)-3]+"/events").Until("a first word", func(e harness.Event) bool {
			return e.Type == "message.delta"
		})
		up.Kill()
		up = harness.Up(t, filepath.Join(dir, "data"), nil, "--config", file)
	}
	want := map[string]float64{}
	for _, id := range turns {
		turn := up.Client.Wait(id)
		want["turns_total "+turn.Str("status")]++
		want["agent_turns_total"]++
		usage, _ := turn["usage"].(map[string]any)
		for field, metric := range map[string]string{
			"model_calls": "agent_model_calls_total", "tool_calls": "agent_tool_calls_total", "input_tokens": "agent_input_tokens_total",
			"output_tokens": "agent_output_tokens_total", "cost": "agent_cost_total",
		} {
			n, _ := strconv.ParseFloat(fmt.Sprint(cmp.Or(usage[field], any("0"))), 64)
			want[metric] += n
		}
	}
	if want["agent_tool_calls_total"] != 2 || want["agent_cost_total"] == 0 {
		t.Errorf("the turns have used %v", want)
	}
	got := map[string]float64{}
	for name, value := range samples(t, up.Client) {
		n, _ := strconv.ParseFloat(value, 64)
		name, labels, _ := strings.Cut(name, " ")
		if name == "turns_total" {
			labels, _, _ = strings.Cut(labels, ",")
			name += " " + strings.TrimPrefix(labels, "outcome=")
		}
		got[name] += n
	}
	for name, n := range want {
		if math.Abs(got[name]-n) > 1e-9 {
			t.Errorf("%s is %v, the API says %v", name, got[name], n)
		}
	}
}
