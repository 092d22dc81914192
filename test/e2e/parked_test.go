package e2e

import (
	"fmt"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestParkedTurns: whatever a turn waits for, it leaves its worker's memory and resumes when it is notified.
func TestParkedTurns(t *testing.T) {
	m := harness.Split(t, harness.SplitOptions{Config: harness.JSON{"temporal": harness.JSON{"park_after": "1ms"}}})
	c := m.Client
	guarded(c, "careful", 0)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "boss", "model": "builtin/scripted", "agents": []string{"careful"}})
	const order = "call:mesh__uuid {} then say:done"
	parked := func(t *testing.T, turn string) {
		t.Helper()
		until(t, "turn "+turn+" is parked", func() bool { return m.Parked(turn) })
	}
	approve := func(turn string) {
		ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
		c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	}
	over := func(t *testing.T, turn string) {
		t.Helper()
		until(t, "workflow of "+turn+" is over", func() bool { return m.WorkflowClosed(turn) })
	}

	t.Run("a sub-agent's and the one that waits for it", func(t *testing.T) {
		turn := c.Turn(c.Session("boss"), fmt.Sprintf("call:agent__careful {\"message\": %q} say:and so am I", order))
		parked(t, turn)
		tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil)
		children, _ := tree["children"].([]any)
		child, _ := children[0].(map[string]any)["turn"].(map[string]any)
		inner := harness.JSON(child).Str("id")
		parked(t, inner)
		approve(inner)
		if end := c.Wait(turn); end.Str("output") != "and so am I" {
			t.Errorf("turn = %v", end)
		}
		over(t, inner)
		over(t, turn)
		m.Replay(t, turn, inner)
	})
	t.Run("a cancelled one", func(t *testing.T) {
		turn := c.Turn(c.Session("careful"), order)
		parked(t, turn)
		c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": "enough"})
		if end := c.Wait(turn); end.Str("status") != "cancelled" {
			t.Errorf("turn = %v", end)
		}
		over(t, turn)
		m.Replay(t, turn)
	})
	t.Run("one that is given more input", func(t *testing.T) {
		turn := c.Turn(c.Session("careful"), order)
		parked(t, turn)
		c.Must("POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": "say:after all"})
		parked(t, turn)
		approve(turn)
		if end := c.Wait(turn); end.Str("output") != "after all" {
			t.Errorf("turn = %v", end)
		}
		over(t, turn)
		m.Replay(t, turn)
	})
}
