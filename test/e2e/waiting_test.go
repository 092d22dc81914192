package e2e

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/test/harness"
)

// manyEnv sets how many turns wait in TestWaitingTurnsAreCheap.
const manyEnv = "WINDLASS_TEST_WAITING"

// TestWaitingTurnsAreCheap: turns that wait for leave are rows of databases. They hold no goroutine, whatever number of workflows
// a worker may keep in memory, and they do not keep other turns from running.
func TestWaitingTurnsAreCheap(t *testing.T) {
	many := 100
	if testmain.Whole() {
		many = 300
	}
	if n, err := strconv.Atoi(os.Getenv(manyEnv)); err == nil {
		many = n
	}
	// few goroutines more or less are the mesh's own: connections, timers, those who measure.
	const few = 30
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_TEMPORAL_PARK_AFTER=1s"})
	c := up.Client
	guarded(c, "waits", 0)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "free", "model": "builtin/scripted"})
	for range 20 { // what all turns share is paid for
		c.Wait(c.Turn(c.Session("free"), "say:hello"))
	}
	goroutines, memory, began := metric(t, c, "go_goroutines"), up.RSS(), time.Now()
	turns := make([]string, many)
	for i := range turns {
		turns[i] = c.Turn(c.Session("waits"), "call:mesh__uuid {} then say:done")
	}
	for _, turn := range turns {
		until(t, "turn "+turn+" waits", func() bool { return c.Must("GET", "/v1/turns/"+turn, nil).Str("status") == "waiting" })
	}
	took := time.Since(began)
	most := goroutines + few
	until(t, "the goroutines are gone", func() bool { return metric(t, c, "go_goroutines") <= most })
	t.Logf("%d turns wait after %v: goroutines %.0f before, %.0f now; memory %d MiB before, %d now (%d bytes a turn)", many,
		took.Round(time.Millisecond),
		goroutines, metric(t, c, "go_goroutines"), memory>>20, up.RSS()>>20, (up.RSS()-memory)/many)
	begin := time.Now()
	if end := c.Wait(c.Turn(c.Session("free"), "say:hello")); end.Str("output") != "hello" {
		t.Errorf("another turn = %v", end)
	}
	t.Logf("another turn took %v", time.Since(begin).Round(time.Millisecond))
	for _, turn := range []string{turns[0], turns[many-1]} {
		begin := time.Now()
		ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
		c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
		if end := c.Wait(turn); end.Str("output") != "done" {
			t.Errorf("turn = %v", end)
		}
		t.Logf("a turn ended %v after the answer", time.Since(begin).Round(time.Millisecond))
	}
}

// until polls for what has no event.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	if !harness.Eventually(2*time.Minute, is) {
		t.Fatalf("%s: not in time", what)
	}
}

// metric reads one number off /metrics.
func metric(t *testing.T, c *harness.Client, name string) float64 {
	t.Helper()
	resp, err := c.HTTP.Get(c.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
