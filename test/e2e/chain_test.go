package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAChainAnswersWhole has the first model of an agent break off, and its fallback answer.
func TestAChainAnswersWhole(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(n int, _ []any) harness.Answer {
		if n == 1 {
			return openai(says(`{"content":"half of "}`))
		}
		return harness.Answer{Words: strings.SplitAfter(whole, " ")}
	})
	up := harness.Up(t, t.TempDir(), model.Env())
	c := up.Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "support", "model": "openai/first", "fallbacks": []string{"openai/second", "nowhere/x"}})
	explained := c.Must(http.MethodPost, "/v1/models:explain", harness.JSON{"agent_id": "support"})
	targets, _ := explained["targets"].([]any)
	skipped, _ := explained["skipped"].([]any)
	if len(targets) != 2 || len(skipped) != 1 {
		t.Fatalf("explained as %v", explained)
	}
	for i, want := range []string{"openai/first", "openai/second"} {
		if target, _ := targets[i].(map[string]any); target["model"] != want || target["reason"] == "" {
			t.Errorf("target %d is %v", i, target)
		}
	}
	turn := c.Turn(c.Session("support"), "hello")
	w := c.Watch("/v1/turns/" + turn + "/events")
	end := c.Wait(turn)
	events := w.End()
	harness.CheckStream(t, events)
	if end.Str("output") != whole {
		t.Errorf("turn %v", end)
	}
	var classes []any
	input := 0.0
	for _, e := range events {
		if e.Type != "step.finished" {
			continue
		}
		made, _ := e.Data["model_attempts"].([]any)
		for _, a := range made {
			attempt, _ := a.(map[string]any)
			classes = append(classes, attempt["class"])
			used, _ := attempt["usage"].(map[string]any)
			n, _ := used["input_tokens"].(float64)
			input += n
		}
	}
	usage, _ := end["usage"].(map[string]any)
	if len(classes) != 2 || classes[0] != "broken_stream" || classes[1] != "answered" || usage["input_tokens"] != input {
		t.Errorf("attempts %v with %v input tokens, usage %v", classes, input, usage)
	}
}
