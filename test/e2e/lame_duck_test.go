package e2e

import (
	"net/http"
	"syscall"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestRolesServeOnWhenAskedToStop: with mesh.lame_duck a role that is asked to stop is not ready at once, and still accepts connections and
// turns, which end. A second signal ends it without further wait.
func TestRolesServeOnWhenAskedToStop(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"mesh": harness.JSON{"lame_duck": "10m"}}})
	session := m.Client.Session("")
	roles := []string{"gateway", "sessions", "knowledge", "inference", "registry", "mcpbridge", "policy"}
	for _, name := range roles {
		m.Process(name).Signal(syscall.SIGTERM)
	}
	fresh := m.NewClient(t)
	fresh.HTTP.Transport = &http.Transport{DisableKeepAlives: true}
	until(t, "the gateway is not ready", func() bool {
		status, _, err := fresh.Do(t.Context(), "GET", "/readyz", nil)
		if err != nil {
			t.Fatalf("a connection is refused: %v", err)
		}
		return status == http.StatusServiceUnavailable
	})
	for range 10 {
		if end := m.Client.Wait(m.Client.Turn(session, "say:still here")); end.Str("output") != "still here" {
			t.Errorf("a turn after the signal: %v", end)
		}
	}
	for _, name := range roles {
		if m.Process(name).Gone() {
			t.Errorf("%s has stopped too early", name)
		}
		m.Process(name).Signal(syscall.SIGTERM)
		m.Process(name).Wait()
	}
}
