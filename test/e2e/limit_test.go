package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// TestALimitIsToldEverywhere: which limit ended a turn stands in the chat's answer, in what a parent's model reads of its child, in the
// command line's exit code, and the session goes on.
func TestALimitIsToldEverywhere(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	c := up.Client
	few := harness.JSON{"max_steps": 2}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "few", "description": "Stops soon.", "tools": []string{"mesh__*"}, "limits": few})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "parent", "agents": []string{"few"}})
	const long = "loop:9 call:mesh__uuid {} then say:done"

	said := c.Must("POST", "/v1/chat", harness.JSON{"agent_id": "few", "message": long})
	if said.Str("status") != "completed" || fieldOf(said, "limit_reached", "code") != "limit_reached" ||
		fieldOf(said, "limit_reached", "limit") != "max_steps" {
		t.Errorf("the chat answers %v", said)
	}
	if next := c.Wait(c.Turn(said.Str("session_id"), "say:fine")); next.Str("output") != "fine" || next["limit_reached"] != nil {
		t.Errorf("the next turn: %v", next)
	}

	turn := c.Turn(c.Session("parent"), ask("few", long))
	if end := c.Wait(turn); end["limit_reached"] != nil || end.Str("stop_reason") != "end" ||
		!strings.Contains(end.Str("output"), "limit_reached: it may take 2 model steps") {
		t.Errorf("the parent: %v", end)
	}
	if child := told(t, c, turn, "child.completed"); fieldOf(child, "limit_reached", "value") != "2" {
		t.Errorf("child.completed says %v", child)
	}

	cmd := exec.CommandContext(t.Context(), harness.Bin(t, "windlass"), "chat", "--server", c.Base, "--agent", "few", long)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState.ExitCode() != 5 || !strings.Contains(errs.String(), "it may take 2 model steps") ||
		!strings.Contains(errs.String(), "limits.max_steps") {
		t.Errorf("windlass chat: %v\n%s\n%s", err, out.String(), errs.String())
	}
}

// checkLimit wants a turn stopped by a limit that says which one, in the turn and in the terminal event, and that is completed without an
// error.
func checkLimit(t *testing.T, end harness.JSON, events []harness.Event, limit string, value int) {
	t.Helper()
	check := func(where string, reached any) {
		l, _ := reached.(map[string]any)
		if l["code"] != "limit_reached" || l["limit"] != limit || l["value"] != fmt.Sprint(value) || l["scope"] != "turn" {
			t.Errorf("the %s says %v, want %s = %d", where, reached, limit, value)
			return
		}
		if !strings.Contains(fmt.Sprint(l["message"]), fmt.Sprint(value)) || !strings.Contains(fmt.Sprint(l["hint"]), limit) {
			t.Errorf("the words of the %s: %v", where, reached)
		}
	}
	check("turn", end["limit_reached"])
	check("event", events[len(events)-1].Data["limit_reached"])
	if end.Str("status") != "completed" || end["error"] != nil {
		t.Errorf("turn = %v", end)
	}
}

// busiest returns the maximum number of concurrent tool steps of a turn.
func busiest(events []harness.Event) int {
	most, open := 0, map[string]bool{}
	for _, e := range events {
		if k, ok := stepkey.Parse(e.Step); !ok || k.Kind != turnv1.StepKind_STEP_KIND_TOOL {
			continue
		}
		switch e.Type {
		case "step.started":
			open[e.Step] = true
		case "step.finished":
			delete(open, e.Step)
		}
		most = max(most, len(open))
	}
	return most
}
