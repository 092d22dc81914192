package crash

import (
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// done is what the tool's own answer says.
const done = "done once pay"

func TestWorkerKilledWhileToolRuns(t *testing.T) {
	harness.Drawn(t, 3)
	s := toolRuns(t, 2)
	killed := time.Now()
	s.Kill(s.Holder(s.turn))
	s.watcher.UntilType("turn.recovered")
	t.Logf("the other worker took the call over after %v", since(killed))
	s.letToolReturn()
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolText: done})
}

func TestSessionsKilledWhileToolRuns(t *testing.T) {
	harness.Drawn(t, 3)
	s := toolRuns(t, 1)
	s.Kill("sessions")
	s.letToolReturn()
	s.Start("sessions")
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolText: done})
}

func TestTemporalKilledWhileToolRuns(t *testing.T) {
	harness.Drawn(t, 3)
	s := toolRuns(t, 1)
	s.Kill("temporal")
	s.letToolReturn()
	s.watcher.UntilType("tool_call.completed")
	s.Start("temporal")
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolText: done})
}

// A registry that died in mid-call cannot know what became of it, and a ONCE call is not repeated.
func TestRegistryKilledWhileToolRuns(t *testing.T) {
	harness.Drawn(t, 3)
	s := toolRuns(t, 1)
	killed := time.Now()
	s.Kill("registry")
	s.letToolReturn()
	s.Start("registry")
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolCode: unknown, toolText: "not known"})
	t.Logf("the turn ended %v after the registry was killed", since(killed))
}

func TestBridgeKilledWhileToolRuns(t *testing.T) {
	harness.Drawn(t, 3)
	s := toolRuns(t, 1)
	s.Kill("mcpbridge")
	s.watcher.UntilType("tool_call.unresolved")
	s.letToolReturn()
	s.check(promise{modelCalls: [2]float64{2, 2}, toolCalls: 1, toolCode: unknown, toolText: "not known"})

	// A new bridge serves the same tools.
	s.Start("mcpbridge")
	out := s.client.Must("POST", "/v1/tools/faulty__echo:invoke", map[string]any{"arguments": map[string]any{"message": "hello"}})
	if out["is_error"] == true {
		t.Errorf("echo = %v", out)
	}
}
