package e2e

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAStartDoesNotWaitForBadSources restarts a mesh with nine good MCP servers, one that is dead, one that is slow and one that lies. It
// is ready and calls the nine while the slow one still has not answered.
func TestAStartDoesNotWaitForBadSources(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	waiting := make(chan struct{}, 100)
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		waiting <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(release); slow.Close() })
	lying := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":"another","result":{"tools":"many"}}`)
	}))
	t.Cleanup(lying.Close)
	server := harness.Start(t, "calculator", nil, harness.Bin(t, "examples/calculator"), "--http", "127.0.0.1:0")

	dir := t.TempDir()
	env := []string{"WINDLASS_REGISTRY_DISCOVER_TIMEOUT=1m"}
	start := func() (*harness.Embedded, time.Duration) {
		begin := time.Now()
		up := harness.Up(t, dir, env)
		return up, time.Since(begin)
	}
	up, _ := start()
	var bundle strings.Builder
	for i := range 9 {
		fmt.Fprintf(&bundle, "kind: source\nname: good%d\nurl: %s\n---\n", i, server.Ready["url"])
	}
	// The slow one comes last: the bundle waits for it.
	fmt.Fprintf(&bundle, "kind: source\nname: dead\nurl: http://%s/mcp\n---\n", closed.Addr())
	fmt.Fprintf(&bundle, "kind: source\nname: lying\nurl: %s/mcp\n---\n", lying.URL)
	fmt.Fprintf(&bundle, "kind: source\nname: slow\nurl: %s/mcp\n---\n", slow.URL)
	nine := func() {
		for i := range 9 {
			tool := fmt.Sprintf("good%d__evaluate", i)
			harness.Eventually(time.Minute, func() bool {
				status, _, err := up.Client.Do(t.Context(), "GET", "/v1/tools/"+tool, nil)
				return err == nil && status == 200
			})
			got, _ := invoke(up.Client, tool, harness.JSON{"expression": "6*7"})["content"].([]any)
			if len(got) != 1 || !strings.Contains(text(got), "42") {
				t.Errorf("%s: %v", tool, got)
			}
		}
	}
	up.Stop()
	up, without := start()
	apply := make(chan struct{})
	go func() { // it may wait for the slow source
		defer close(apply)
		_, _, _ = up.Client.Do(t.Context(), "POST", "/v1/agents:apply", harness.JSON{"yaml": bundle.String()})
	}()
	nine()
	<-waiting
	up.Kill()
	<-apply

	var with time.Duration
	up, with = start()
	nine()
	<-waiting
	if state := up.Client.Must("GET", "/v1/sources/slow", nil).Str("state"); state == "unreachable" || state == "ready" {
		t.Errorf("the slow source is %s", state)
	}
	for name, want := range map[string]string{"dead": "refused", "lying": "lying"} {
		if !harness.Eventually(time.Minute, func() bool {
			return strings.Contains(up.Client.Must("GET", "/v1/sources/"+name, nil).Str("last_error"), want)
		}) {
			t.Errorf("source %s: %v", name, up.Client.Must("GET", "/v1/sources/"+name, nil))
		}
	}
	t.Logf("a start took %v without the twelve sources and %v with them", without, with)
}
