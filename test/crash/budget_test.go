package crash

import (
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestWorkerKilledUnderABudget kills the worker during an answer: the next attempt finds the existing reservation, and the lost attempt
// counts only for itself.
func TestWorkerKilledUnderABudget(t *testing.T) {
	slot(t)
	s := &scene{t: t, prop: newProp(t)}
	s.Mesh = harness.Split(t, harness.SplitOptions{Model: s.model, Workers: 2})
	s.client = s.Client
	s.client.Must("POST", "/v1/agents", harness.JSON{"id": "a"})
	budget := s.client.Must("POST", "/v1/budgets", harness.JSON{"scope": "tenant", "max_tokens": 6000}).Str("id")
	stands := func() harness.JSON { return s.client.Must("GET", "/v1/budgets/"+budget, nil) }
	s.begin("tell a story")
	s.awaitWords()
	before := stands()
	if before.Str("reserved_tokens") == "0" || before.Str("used_tokens") != "0" {
		t.Errorf("in mid-answer: %v", before)
	}
	s.Kill(s.Holder(s.turn))
	s.watcher.UntilType("message.reset")
	if now := stands(); now.Str("reserved_tokens") != before.Str("reserved_tokens") {
		t.Errorf("the second attempt reserved again: %v, before %v", now, before)
	}
	close(s.gate.open)
	s.check(promise{modelCalls: [2]float64{1, 1}})
	usage, _ := s.client.Wait(s.turn)["usage"].(map[string]any)
	if usage["input_tokens"] != 10.0 || usage["output_tokens"] != 11.0 || usage["lost_calls"] != 1.0 {
		t.Errorf("usage = %v, want that of one call, and one lost", usage)
	}
	if now := stands(); now.Str("used_tokens") != "21" || now.Str("reserved_tokens") != "0" {
		t.Errorf("at the end: %v", now)
	}
	if n := s.model.Calls(); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}
