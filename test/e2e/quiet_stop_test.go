package e2e

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// errorLine is what the programs log of an error, as text and as JSON.
var errorLine = regexp.MustCompile(`(?m)^.*(level=ERROR|"level":"ERROR").*$`)

// wantNoError checks that a process that was stopped has logged no error.
func wantNoError(t *testing.T, p *harness.Process) {
	t.Helper()
	for _, line := range errorLine.FindAllString(p.Log(), -1) {
		t.Errorf("a normal stop logs %s", line)
	}
}

// hanging adds a tool that does not answer before its caller gives up, and an agent that calls it. Each call sends on the channel.
func hanging(t *testing.T, c *harness.Client) (called <-chan struct{}) {
	t.Helper()
	calls, over := make(chan struct{}, 8), make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		calls <- struct{}{}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); api.Close() })
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "slow", "kind": "http", "base_url": api.URL, "endpoints": []harness.JSON{{"name": "wait", "path": "/wait"}},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "waiter", "model": "builtin/scripted", "tools": []string{"slow__*"}})
	return calls
}

// TestAStopLogsNoError: with one turn that its eager run does, and one whose workflow has taken it over.
func TestAStopLogsNoError(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := []string{"WINDLASS_WORKER_DRAIN_TIME=500ms"}
	up := harness.Up(t, dir, env)
	called := hanging(t, up.Client)
	up.Client.Turn(up.Client.Session("waiter"), "call:slow__wait {}")
	<-called
	if code := up.Stop(); code != 0 {
		t.Errorf("the stop exits with %d", code)
	}
	wantNoError(t, up.Process)
	up = harness.Up(t, dir, env)
	<-called // the turn goes on
	up.Client.Turn(up.Client.Session("waiter"), "call:slow__wait {}")
	<-called
	if code := up.Stop(); code != 0 {
		t.Errorf("the second stop exits with %d", code)
	}
	wantNoError(t, up.Process)
}

func TestAStopOfARoleLogsNoError(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"worker": harness.JSON{"drain_time": "500ms"}}})
	called := hanging(t, m.Client)
	m.Client.Turn(m.Client.Session("waiter"), "call:slow__wait {}")
	<-called
	for _, name := range []string{"worker-1", "gateway", "sessions", "knowledge", "inference", "registry", "mcpbridge", "policy"} {
		if code := m.Process(name).Stop(); code != 0 {
			t.Errorf("the stop of %s exits with %d", name, code)
		}
		wantNoError(t, m.Process(name))
	}
}
