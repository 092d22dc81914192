package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestWaits is what turns wait for people for, over REST, on one mesh with real tool servers.
func TestWaits(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	c := up.Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "faulty", "kind": "mcp", "command": faultyCommand(t)})
	ask := harness.JSON{"name": "sums", "tools": []string{"calculator__*"}, "allow_requester": true, "reason": "sums are checked"}
	for id, agent := range map[string]harness.JSON{
		"asker":   {"tools": []string{"mesh__ask_user"}},
		"careful": {"tools": []string{"calculator__*"}, "approvals": []harness.JSON{ask}},
		"parker":  {"tools": []string{"faulty__*"}, "on_unknown_outcome": "park"},
	} {
		agent["id"], agent["model"] = id, "builtin/scripted"
		c.Must("POST", "/v1/agents", agent)
	}
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"the client runs a tool":               clientRunsTool,
		"a tool asks the user":                 toolAsksUser,
		"calls wait for leave":                 callsWaitForLeave,
		"somebody says what became of a call":  callIsResolved,
		"input reaches the running turn":       inputReachesTurn,
		"a cancel reaches a turn that waits":   cancelReachesWaiting,
		"what is refused says what to do next": waitsRefuse,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, c.Base))
		})
	}
}

// asked waits until a turn asks for n things, and gives them oldest first.
func asked(c *harness.Client, turn, event string, n int) []harness.JSON {
	w := c.Watch("/v1/turns/" + turn + "/events")
	seen := 0
	w.Until(fmt.Sprint(n, " of ", event), func(e harness.Event) bool {
		if e.Type == event {
			seen++
		}
		return seen == n
	})
	w.Cut()
	list, _ := c.Must("GET", "/v1/approvals?status=pending&turn_id="+turn, nil)["approvals"].([]any)
	out := make([]harness.JSON, len(list))
	for i, a := range list {
		out[len(list)-1-i], _ = a.(map[string]any)
	}
	return out
}

func clientRunsTool(t *testing.T, c *harness.Client) {
	turn := c.Must("POST", "/v1/sessions/"+c.Session("asker")+"/turns", harness.JSON{
		"input": `call:client__open {"file":"a"}`,
		"tools": []harness.JSON{{
			"name": "open", "description": "Opens a file",
			"input_schema": harness.JSON{"type": "object", "required": []string{"file"}},
		}},
	}).Str("id")
	waits := asked(c, turn, "input.requested", 1)
	if got := c.Must("GET", "/v1/turns/"+turn, nil); got.Str("status") != "waiting" ||
		fmt.Sprint(got["waiting_for"]) != fmt.Sprint([]any{waits[0]["id"]}) {
		t.Errorf("turn %v", got)
	}
	if waits[0].Str("kind") != "client_tool" || fmt.Sprint(waits[0]["arguments"]) != "map[file:a]" {
		t.Errorf("asked for %v", waits[0])
	}
	c.Must("POST", "/v1/approvals/"+waits[0].Str("id")+":answer", harness.JSON{"result": "it says hello"})
	if end := c.Wait(turn); !strings.Contains(end.Str("output"), "it says hello") || fmt.Sprint(end["tools_used"]) != "[client__open]" {
		t.Errorf("turn %v", end)
	}
}

func toolAsksUser(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("asker"), `call:mesh__ask_user {"question":"Which colour?","options":["red","blue"]}`)
	question := asked(c, turn, "input.requested", 1)[0]
	if question.Str("kind") != "input" || !strings.Contains(question.Str("message"), "Which colour?") {
		t.Errorf("asked %v", question)
	}
	answer := func(v string) (int, harness.JSON) {
		schema, _ := question["schema"].(map[string]any)
		fields, _ := schema["properties"].(map[string]any)
		content := harness.JSON{}
		for name := range fields {
			content[name] = v
		}
		status, out, err := c.Do(t.Context(), "POST", "/v1/approvals/"+question.Str("id")+":answer", harness.JSON{"content": content})
		if err != nil {
			t.Fatal(err)
		}
		return status, out
	}
	if status, out := answer("green"); status != 400 || out.Str("code") != "invalid_argument" {
		t.Errorf("a wrong answer: %d %v", status, out)
	}
	if status, out := answer("red"); status != 200 || out.Str("status") != "answered" {
		t.Errorf("an answer: %d %v", status, out)
	}
	if end := c.Wait(turn); !strings.Contains(end.Str("output"), "red") {
		t.Errorf("turn %v", end)
	}
}

func callsWaitForLeave(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("careful"), `call:calculator__evaluate {"expression":"6*7"} call:calculator__evaluate {"expression":"8*9"}`)
	waits := asked(c, turn, "approval.requested", 2)
	decisions := make([]harness.JSON, 2)
	for i, w := range waits {
		decisions[i] = harness.JSON{"approval_id": w["id"], "decision": "approve", "arguments_hash": w["arguments_hash"]}
		if args, _ := w["arguments"].(map[string]any); args["expression"] == "8*9" {
			decisions[i]["decision"], decisions[i]["comment"] = "deny", "no nines"
		}
	}
	out := c.Must("POST", "/v1/approvals:decide", harness.JSON{"decisions": decisions})
	for _, r := range out["results"].([]any) {
		if r := harness.JSON(r.(map[string]any)); r["error"] != nil {
			t.Errorf("decision %v", r)
		}
	}
	end := c.Wait(turn)
	if s := end.Str("output"); !strings.Contains(s, "42") || strings.Contains(s, "72") || !strings.Contains(s, "no nines") {
		t.Errorf("turn %v", end)
	}
	w := c.Watch("/v1/turns/" + turn + "/events")
	events := w.End()
	harness.CheckStream(t, events)
	count := map[string]int{}
	for _, e := range events {
		count[e.Type]++
	}
	if count["approval.resolved"] != 2 || count["turn.paused"] != 1 || count["turn.resumed"] != 1 || count["tool_call.executing"] != 1 {
		t.Errorf("events %v", count)
	}
}

func callIsResolved(t *testing.T, c *harness.Client) {
	for outcome, want := range map[string]string{"done": "the bank says it went through", "give_up": "faulty__crash"} {
		turn := c.Turn(c.Session("parker"), `call:faulty__crash {"call_id":"c-`+outcome+`"}`)
		lost := asked(c, turn, "tool_call.unresolved", 1)[0]
		if lost.Str("kind") != "resolution" || lost.Str("execution_id") == "" {
			t.Fatalf("asked for %v", lost)
		}
		if said := lost.Str("message"); !strings.Contains(said, "took effect") || strings.Contains(said, "tell the user") {
			t.Errorf("a person reads %q", said)
		}
		body := harness.JSON{"call_id": lost["call_id"], "outcome": outcome, "comment": "looked it up"}
		if outcome == "done" {
			body["result"] = want
		}
		if got := c.Must("POST", "/v1/turns/"+turn+":resolve", body); got.Str("end_time") == "" {
			t.Errorf("resolved %v", got)
		}
		if end := c.Wait(turn); end.Str("status") != "completed" || !strings.Contains(end.Str("output"), want) {
			t.Errorf("%s: turn %v", outcome, end)
		}
	}
}

func inputReachesTurn(t *testing.T, c *harness.Client) {
	session := c.Session("assistant")
	turn := c.Turn(session, "slow:50 tokens:40")
	c.Watch("/v1/turns/"+turn+"/events").Until("the third word",
		func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w3") })
	for range 2 { // the same key is given once
		got := c.Must("POST", "/v1/turns/"+turn+":steer", harness.JSON{"input": "say:steered"}, "Idempotency-Key", "k")
		if got.Str("message_id") == "" {
			t.Errorf("steered %v", got)
		}
	}
	if end := c.Wait(turn); end.Str("output") != "steered" || end.Str("input") != "slow:50 tokens:40" {
		t.Errorf("turn %v", end)
	}
	x := c.Must("GET", "/v1/sessions/"+session+"/messages", nil)
	if n := len(x["messages"].([]any)); n != 4 {
		t.Errorf("%d messages", n)
	}
}

func cancelReachesWaiting(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("careful"), `call:calculator__evaluate {"expression":"1+1"}`)
	leave := asked(c, turn, "approval.requested", 1)[0].Str("id")
	c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{})
	if end := c.Wait(turn); end.Str("status") != "cancelled" {
		t.Errorf("turn %v", end)
	}
	if got := c.Must("GET", "/v1/approvals/"+leave, nil); got.Str("status") != "cancelled" {
		t.Errorf("approval %v", got)
	}
}

func waitsRefuse(t *testing.T, c *harness.Client) {
	ended := c.Turn(c.Session("assistant"), "say:done")
	c.Wait(ended)
	for _, row := range []struct {
		name, method, path string
		body               any
		status             int
		code               string
	}{
		{"an approval that is not there", "POST", "/v1/approvals/apr_nope:decide", harness.JSON{"decision": "approve"}, 404, "not_found"},
		{"a decision that is none", "POST", "/v1/approvals/apr_nope:decide", harness.JSON{"decision": "maybe"}, 400, "invalid_argument"},
		{"a list of none", "POST", "/v1/approvals:decide", harness.JSON{}, 400, "invalid_argument"},
		{"a status that is none", "GET", "/v1/approvals?status=x", nil, 400, "invalid_argument"},
		{"a turn that is over", "POST", "/v1/turns/" + ended + ":steer", harness.JSON{"input": "x"}, 409, "turn_ended"},
		{"no input", "POST", "/v1/turns/" + ended + ":steer", harness.JSON{}, 400, "invalid_argument"},
		{
			"a call that nobody asks about", "POST", "/v1/turns/" + ended + ":resolve",
			harness.JSON{"call_id": "c", "outcome": "done"},
			404,
			"not_found",
		},
		{"an unknown field", "POST", "/v1/turns/" + ended + ":resolve", harness.JSON{"call": "c"}, 400, "unknown_field"},
	} {
		status, out, err := c.Do(t.Context(), row.method, row.path, row.body)
		if err != nil || status != row.status || out.Str("code") != row.code || out.Str("detail") == "" {
			t.Errorf("%s: %d %v %v", row.name, status, out, err)
		}
	}
}
