package e2e

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestMemoryHolds: what alice has remembered is known in a new session, after a restart, for her only, and no longer once she has it
// forgotten.
func TestMemoryHolds(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "minder", "memory": "write"})
	ask := func(user, message string, more ...harness.JSON) string {
		t.Helper()
		body := harness.JSON{"agent_id": "minder", "message": message}
		for _, m := range more {
			maps.Copy(body, m)
		}
		return p.as(user).Must("POST", "/v1/chat", body).Str("answer")
	}
	const question, known = "What was the last cluster I registered?", "Your last cluster is prod-7."
	if got := ask("alice", "remember: last cluster = prod-7"); !strings.Contains(got, "Remembered as fct_") {
		t.Fatalf("the answer is %q", got)
	}
	for user, want := range map[string]bool{"alice": true, "bob": false} {
		if got := ask(user, question); (got == known) != want {
			t.Errorf("%s is answered %q", user, got)
		}
	}
	if got := ask("alice", question, harness.JSON{"without_memory": true}); got == known {
		t.Errorf("without memory the answer is %q", got)
	}

	p.restart()
	if got := ask("alice", question); got != known {
		t.Errorf("after the restart the answer is %q", got)
	}
	facts, _ := p.as("alice").Must("GET", "/v1/memory", nil)["facts"].([]any)
	if len(facts) != 1 {
		t.Fatalf("alice has %v", facts)
	}
	fact, _ := facts[0].(map[string]any)
	path := "/v1/memory/" + fact["id"].(string)
	if source, _ := fact["source"].(map[string]any); fact["trust"] != "model" || !strings.HasPrefix(source["turn_id"].(string), "trn_") {
		t.Errorf("the fact is %v", fact)
	}
	if status, _, err := p.as("bob").Do(t.Context(), "DELETE", path, nil); err != nil || status != http.StatusNotFound {
		t.Errorf("bob deletes alice's fact: %d, %v", status, err)
	}
	p.as("alice").Must("DELETE", path, nil)
	if got := ask("alice", question); got == known {
		t.Error("the forgotten fact is still known")
	}
	if got := ask("alice", "remember: last cluster = prod-7"); !strings.Contains(got, "Not remembered") {
		t.Errorf("what was forgotten is learned again: %q", got)
	}
}
