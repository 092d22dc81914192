package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAgentsOfASource is what agents as tools of a source promise: called directly they are turns of the caller, within a turn they are
// child sessions, as sub-agents are.
func TestAgentsOfASource(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for _, a := range []harness.JSON{
		{"id": "worker", "description": "Computes sums.", "tools": []string{"calculator__*"}},
		{"id": "middle", "description": "Manages workers.", "tools": []string{"team__*"}},
		{"id": "boss", "tools": []string{"team__*"}},
		{"id": "ping", "tools": []string{"team__*"}, "limits": harness.JSON{"max_depth": 2}},
		{"id": "pong", "tools": []string{"team__*"}, "limits": harness.JSON{"max_depth": 2}},
	} {
		up.Client.Must("POST", "/v1/agents", a)
	}
	source := up.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "team", "kind": "agent", "agents": []string{"worker", "middle", "p?ng"},
	})
	if source.Str("state") != "ready" || fmt.Sprint(source["tool_count"]) != "4" {
		t.Fatalf("source = %v", source)
	}
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"a direct call is a turn":     callDirectly,
		"a call in a turn is a child": callInTurn,
		"a cancel reaches all":        cancelTeam,
		"the depth is limited":        teamDepth,
		"a call may need an approval": approveAgent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

func team(agent, message string) string {
	return fmt.Sprintf("call:team__%s {\"message\": %q}", agent, message)
}

func callDirectly(t *testing.T, c *harness.Client) {
	call := harness.JSON{"arguments": harness.JSON{"message": "say:hello"}, "idempotency_key": "once"}
	first := c.Must("POST", "/v1/tools/team__worker:invoke", call)
	answer, _ := first["structured_content"].(map[string]any)
	if answer["output"] != "hello" || answer["status"] != "completed" {
		t.Fatalf("answer = %v", first)
	}
	turn := c.Must("GET", fmt.Sprint("/v1/turns/", answer["turn_id"]), nil)
	if turn.Str("agent_id") != "worker" || turn.Str("session_id") != answer["session_id"] || turn.Str("parent_turn_id") != "" {
		t.Errorf("turn = %v", turn)
	}
	again := c.Must("POST", "/v1/tools/team__worker:invoke", call)
	if same, _ := again["structured_content"].(map[string]any); same["turn_id"] != answer["turn_id"] {
		t.Errorf("the same call again = %v", again)
	}
	next := c.Must("POST", "/v1/tools/team__worker:invoke", harness.JSON{
		"arguments": harness.JSON{"message": "say:more", "session_id": answer["session_id"]},
	})
	if more, _ := next["structured_content"].(map[string]any); more["output"] != "more" || more["session_id"] != answer["session_id"] {
		t.Errorf("the session goes on with %v", next)
	}
}

func callInTurn(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("boss"), team("middle", team("worker", "say:done")))
	if end := c.Wait(turn); !strings.Contains(end.Str("output"), "done") {
		t.Errorf("turn = %v", end)
	}
	tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil)
	if got := drawn(tree); got != "boss(middle(worker()))" {
		t.Errorf("tree is %s", got)
	}
	if child := turnOf(tree, 0); child.Str("parent_turn_id") != turn || child.Str("root_turn_id") != turn {
		t.Errorf("child = %v", child)
	}
	if end := c.Wait(c.Turn(c.Session("boss"), `call:team__worker {"message": "x", "session_id": "ses_1"}`)); strings.Contains(
		drawn(c.Must("GET", "/v1/turns/"+end.Str("id")+"/tree", nil)), "worker") {
		t.Errorf("a child session that exists: %v", end)
	}
}

func cancelTeam(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("boss"), team("middle", team("worker", "slow:100 tokens:500")))
	w := c.Watch("/v1/turns/" + turn + "/events?include=children")
	w.Until("a child's word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w2") })
	c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{})
	if end := c.Wait(turn); end.Str("status") != "cancelled" {
		t.Errorf("turn = %v", end)
	}
	tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil)
	for range 2 {
		if end := c.Wait(turnOf(tree, 0).Str("id")); end.Str("status") != "cancelled" {
			t.Errorf("a turn below = %v", end)
		}
		children, _ := tree["children"].([]any)
		tree, _ = children[0].(map[string]any)
	}
}

func teamDepth(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(c.Session("ping"), team("pong", team("ping", team("pong", "say:too deep")))))
	if got := end.Str("output"); !strings.Contains(got, "limits.max_depth") {
		t.Errorf("turn = %v", end)
	}
}

func approveAgent(t *testing.T, c *harness.Client) {
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful", "tools": []string{"team__*"},
		"approvals": []harness.JSON{{"name": "look", "tools": []string{"team__worker"}, "allow_requester": true}},
	})
	turn := c.Turn(c.Session("careful"), team("worker", "say:approved"))
	w := c.Watch("/v1/turns/" + turn + "/events")
	a := waits(t, w, c, turn)
	if a.Str("tool") != "team__worker" {
		t.Errorf("approval = %v", a)
	}
	c.Must("POST", "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(turn); !strings.Contains(end.Str("output"), "approved") {
		t.Errorf("turn = %v", end)
	}
	if got := drawn(c.Must("GET", "/v1/turns/"+turn+"/tree", nil)); got != "careful(worker())" {
		t.Errorf("tree is %s", got)
	}
}
