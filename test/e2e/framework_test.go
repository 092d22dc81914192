package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testnpm"
	"github.com/windlass-dev/windlass/test/harness"
)

// TestAnAgentOfTheOpenAIAgentsSDK hosts the example that is written with that framework. Its model is a scripted one; its tools
// are ours, and one of its calls waits for leave.
func TestAnAgentOfTheOpenAIAgentsSDK(t *testing.T) {
	t.Parallel()
	node, sdk := testnpm.OpenAIAgents(t)
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join(harness.Root(t), "examples", "executor-openai-agents", "agent.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "agent.mjs"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(sdk, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		last, _ := messages[len(messages)-1].(map[string]any)
		if text, _ := last["content"].(string); last["role"] == "tool" {
			return harness.Answer{Words: []string{"It ", "is ", text}}
		}
		return harness.Answer{Calls: []harness.Call{
			{ID: "c1", Tool: "calculator__convert", Args: harness.JSON{"value": "1", "from": "km", "to": "m"}},
			{ID: "c2", Tool: "calculator__evaluate", Args: harness.JSON{"expression": "6*7"}},
		}}
	})
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_EXECUTOR_KEY=unused"})
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "framework", "instructions": "be exact", "tools": []string{"calculator__*"}, "model": "openai/test",
		"approvals": []any{harness.JSON{"name": "careful", "tools": []string{"calculator__evaluate"}, "allow_requester": true}},
		"executor": harness.JSON{"kind": "process", "command": []string{node, filepath.Join(dir, "agent.mjs")}, "env": harness.JSON{
			"STATE_DIR": dir, "OPENAI_BASE_URL": model.URL(), "OPENAI_API_KEY": "${env:WINDLASS_EXECUTOR_KEY}",
		}},
	})
	turn := c.Turn(c.Session("framework"), "What is 6*7?")
	w := c.Watch("/v1/turns/" + turn + "/events")
	asked := w.UntilType("approval.requested")
	c.Must("POST", "/v1/approvals/"+asked.Data.Str("approval_id")+":decide", harness.JSON{"decision": "approve"})
	events := w.End()
	harness.CheckStream(t, events)
	got := c.Wait(turn)
	if got.Str("status") != "completed" || !strings.HasPrefix(got.Str("output"), "It is ") || !strings.Contains(got.Str("output"), "42") {
		t.Fatalf("turn = %v", got)
	}
	usage, _ := got["usage"].(map[string]any)
	used, _ := got["tools_used"].([]any)
	if usage["model_calls"] != 2.0 || usage["input_tokens"] != 20.0 || len(used) != 2 || model.Calls() != 2 {
		t.Errorf("usage %v, tools %v, %d model calls", usage, used, model.Calls())
	}
	if !slices.Contains(typesOf(events), "executor.attached") {
		t.Errorf("events: %v", typesOf(events))
	}
}
