package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestApprovals covers calls that wait for an approval, through REST and the event stream.
func TestApprovals(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"let an approved call run":               approveCall,
		"tell the model of a refusal":            denyCall,
		"expire":                                 expireApproval,
		"end with a turn that is cancelled":      cancelWaiting,
		"stop one call while another runs":       approveOneOfTwo,
		"hear what is said to a turn that runs":  steerTurn,
		"answer a chat that people must look at": chatThatWaits,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

// guarded creates an agent with a tool that requires an approval, and returns a session with it.
func guarded(c *harness.Client, id string, expires int) string {
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": id, "tools": []string{"mesh__*"}, "model": "builtin/scripted",
		"approvals": []harness.JSON{{
			"name": "careful", "tools": []string{"mesh__uuid"}, "reason": "somebody should look", "allow_requester": true,
			"expires_seconds": expires,
		}},
	})
	return c.Session(id)
}

// waits returns what a turn waits for, once it waits.
func waits(t *testing.T, w *harness.Watcher, c *harness.Client, turn string) harness.JSON {
	t.Helper()
	w.UntilType("turn.paused")
	now := c.Must("GET", "/v1/turns/"+turn, nil)
	ids, _ := now["waiting_for"].([]any)
	if now.Str("status") != "waiting" || len(ids) != 1 {
		t.Fatalf("the turn is %v", now)
	}
	return c.Must("GET", "/v1/approvals/"+ids[0].(string), nil)
}

func approveCall(t *testing.T, c *harness.Client) {
	session := guarded(c, "approve", 0)
	turn := c.Turn(session, "call:mesh__uuid {} then say:done")
	w := c.Watch("/v1/turns/" + turn + "/events")
	a := waits(t, w, c, turn)
	if a.Str("status") != "pending" || a.Str("tool") != "mesh__uuid" || a.Str("rule") != "careful" ||
		a.Str("message") != "somebody should look" ||
		a.Str("arguments_hash") == "" || a.Str("definition_hash") == "" {
		t.Errorf("approval = %v", a)
	}
	c.Must("POST", "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(turn); end.Str("output") != "done" || end.Str("stop_reason") != "end" {
		t.Errorf("turn = %v", end)
	}
	events := w.End()
	harness.CheckStream(t, events)
	inOrder(t, events, "tool_call.started", "approval.requested", "turn.paused", "approval.resolved", "turn.resumed", "tool_call.completed",
		"turn.completed")
}

// chatThatWaits: a chat returns while the turn waits for a person, who may be its caller.
func chatThatWaits(t *testing.T, c *harness.Client) {
	session := guarded(c, "chatty", 0)
	got := c.Must("POST", "/v1/chat", harness.JSON{"session_id": session, "message": "call:mesh__uuid {} then say:done"})
	ids, _ := got["waiting_for"].([]any)
	if got.Str("status") != "waiting" || len(ids) != 1 {
		t.Fatalf("the chat answers %v", got)
	}
	c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(got.Str("turn_id")); end.Str("output") != "done" {
		t.Errorf("turn = %v", end)
	}
}

// inOrder checks that events of these types stand in this order, each once.
func inOrder(t *testing.T, events []harness.Event, types ...string) {
	t.Helper()
	var seen []string
	for _, e := range events {
		for _, typ := range types {
			if e.Type == typ {
				seen = append(seen, typ)
			}
		}
	}
	if got := strings.Join(seen, " "); got != strings.Join(types, " ") {
		t.Errorf("events %s\nwant   %s", got, strings.Join(types, " "))
	}
}

func denyCall(t *testing.T, c *harness.Client) {
	session := guarded(c, "deny", 0)
	turn := c.Turn(session, "call:mesh__uuid {} then say:well")
	w := c.Watch("/v1/turns/" + turn + "/events")
	a := waits(t, w, c, turn)
	c.Must("POST", "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": "deny", "comment": "not on Fridays"})
	c.Wait(turn)
	if text := resultOf(w.End()); !strings.Contains(text, "refused") || !strings.Contains(text, "not on Fridays") {
		t.Errorf("the model is told %q", text)
	}
	if got := executions(c, turn); got != 0 {
		t.Errorf("the ledger has %d rows", got)
	}
}

// resultOf is the raw event of the last call's end.
func resultOf(events []harness.Event) string {
	for _, e := range events {
		if e.Type == "tool_call.completed" {
			return fmt.Sprint(e.Data)
		}
	}
	return ""
}

func executions(c *harness.Client, turn string) int {
	rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any)
	return len(rows)
}

func expireApproval(t *testing.T, c *harness.Client) {
	session := guarded(c, "expire", 1)
	turn := c.Turn(session, "call:mesh__uuid {} then say:nobody came")
	if end := c.Wait(turn); end.Str("output") != "nobody came" {
		t.Errorf("turn = %v", end)
	}
	if text := resultOf(c.Watch("/v1/turns/" + turn + "/events").End()); !strings.Contains(text, "was not approved in time") {
		t.Errorf("the model is told %q", text)
	}
}

func cancelWaiting(t *testing.T, c *harness.Client) {
	session := guarded(c, "cancel", 0)
	turn := c.Turn(session, "call:mesh__uuid {}")
	w := c.Watch("/v1/turns/" + turn + "/events")
	a := waits(t, w, c, turn)
	c.Must("POST", "/v1/turns/"+turn+":cancel", nil)
	if end := c.Wait(turn); end.Str("status") != "cancelled" {
		t.Errorf("turn = %v", end)
	}
	if got := c.Must("GET", "/v1/approvals/"+a.Str("id"), nil).Str("status"); got != "cancelled" {
		t.Errorf("approval is %s", got)
	}
}

func approveOneOfTwo(t *testing.T, c *harness.Client) {
	session := guarded(c, "two", 0)
	turn := c.Turn(session, "call:mesh__uuid {} call:mesh__current_time {} then say:both")
	w := c.Watch("/v1/turns/" + turn + "/events")
	a := waits(t, w, c, turn)
	w.UntilType("tool_call.completed") // the other one
	c.Must("POST", "/v1/approvals/"+a.Str("id")+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(turn); end.Str("output") != "both" {
		t.Errorf("turn = %v", end)
	}
}

// steerTurn sends input to a turn while its model answers: the model reads it and answers again, in the same turn.
func steerTurn(t *testing.T, c *harness.Client) {
	c.Must("POST", "/v1/agents", harness.JSON{"id": "steered", "model": "builtin/scripted"})
	turn := c.Turn(c.Session("steered"), "slow:100 tokens:30")
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.UntilType("message.delta")
	c.Must("POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": "say:in French"})
	if end := c.Wait(turn); end.Str("output") != "in French" || end.Str("stop_reason") != "end" {
		t.Errorf("turn = %v", end)
	}
	events := w.End()
	harness.CheckStream(t, events)
	inOrder(t, events, "input.accepted", "turn.completed")
}
