package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// testOrchestrator has a client run agents, as an agent that is a client itself would.
func testOrchestrator(t *testing.T, up *harness.Embedded) {
	up.Client.Must("POST", "/v1/agents", harness.JSON{"id": "worker-bee", "description": "Does small things.", "model": "builtin/scripted"})
	parent := up.Client.Session("worker-bee")
	c := newClient(t, up, "/mcp/orchestrator").initialize(nil)
	c.header["X-Agent-Session-Id"] = parent
	call := func(tool string, arguments harness.JSON) harness.JSON {
		t.Helper()
		got := c.result("tools/call", harness.JSON{"name": tool, "arguments": arguments})
		if got["isError"] != false {
			t.Fatalf("%s: %s", tool, textOf(got))
		}
		return got["structuredContent"].(map[string]any)
	}
	if tools := names(c.result("tools/list", nil)["tools"], "name"); len(tools) != 10 || !tools["start_session"] {
		t.Errorf("tools = %v", tools)
	}
	if got := c.result("prompts/list", nil)["prompts"].([]any); len(got) != 0 {
		t.Errorf("prompts = %v", got)
	}
	if agents := names(call("list_agents", nil)["agents"], "agent_id"); !agents["worker-bee"] {
		t.Errorf("agents = %v", agents)
	}
	first := call("start_session", harness.JSON{"agent_id": "worker-bee", "message": `say:"done one"`, "wait_seconds": 60})
	if first.Str("status") != "completed" || first.Str("output") != "done one" {
		t.Fatalf("started = %v", first)
	}
	second := call("send_message", harness.JSON{"session_id": first.Str("session_id"), "message": `say:"done two"`})
	if second = call("wait_for_turn", harness.JSON{"turn_id": second.Str("turn_id")}); second.Str("output") != "done two" {
		t.Errorf("sent = %v", second)
	}
	children := names(call("list_sessions", harness.JSON{"children": true})["sessions"], "session_id")
	if len(children) != 1 || !children[first.Str("session_id")] {
		t.Errorf("children = %v", children)
	}
	session := call("get_session", harness.JSON{"session_id": first.Str("session_id")})
	labels, _ := session["session"].(map[string]any)["labels"].(map[string]any)
	if turns, _ := session["turns"].([]any); len(turns) != 2 || labels["parent_session_id"] != parent ||
		labels["parent_agent_id"] != "worker-bee" {
		t.Errorf("session = %v", session)
	}
	events := call("read_events", harness.JSON{"turn_id": first.Str("turn_id")})
	if list, _ := events["events"].([]any); len(list) < 3 || events["ended"] != true {
		t.Errorf("events = %v", events)
	}
	slow := call("start_session", harness.JSON{"agent_id": "worker-bee", "message": `slow:2000 say:"one two three four five six seven eight nine ten"`})
	if slow.Str("next") == "" {
		t.Errorf("a turn at work = %v", slow)
	}
	call("cancel_turn", harness.JSON{"turn_id": slow.Str("turn_id"), "reason": "enough"})
	if got := call("wait_for_turn", harness.JSON{"turn_id": slow.Str("turn_id")}); got.Str("status") != "cancelled" {
		t.Errorf("cancelled = %v", got)
	}
	// A repeated call is the same one.
	again := harness.JSON{
		"name": "start_session", "arguments": harness.JSON{"agent_id": "worker-bee", "message": "hello"},
		"_meta": harness.JSON{"windlass/idempotency_key": "once"},
	}
	a, _ := c.result("tools/call", again)["structuredContent"].(map[string]any)
	b, _ := c.result("tools/call", again)["structuredContent"].(map[string]any)
	if a["turn_id"] == nil || a["turn_id"] != b["turn_id"] {
		t.Errorf("one key, two turns: %v and %v", a, b)
	}
	testApprovals(t, up)
	testInheritance(t, up)
	testOrchestratorErrors(t, c)
}

// testApprovals has the person at a client decide about a call of an agent. A client that is an agent must not.
func testApprovals(t *testing.T, up *harness.Embedded) {
	t.Helper()
	up.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": "careful-bee", "model": "builtin/scripted", "tools": []string{"mesh__*"},
		"approvals": []harness.JSON{{"name": "look", "tools": []string{"mesh__uuid"}, "allow_requester": true}},
	})
	c := newClient(t, up, "/mcp/orchestrator").initialize(nil)
	call := func(tool string, arguments harness.JSON) (harness.JSON, string) {
		t.Helper()
		answers := c.do("tools/call", harness.JSON{"name": tool, "arguments": arguments})
		last := answers[len(answers)-1]
		if refused, ok := last["error"].(map[string]any); ok {
			return nil, harness.JSON(refused).Str("message")
		}
		got, _ := last["result"].(map[string]any)
		view, _ := got["structuredContent"].(map[string]any)
		if got["isError"] != false {
			return nil, textOf(got)
		}
		return view, ""
	}
	turn, _ := call("start_session", harness.JSON{"agent_id": "careful-bee", "message": "call:mesh__uuid {}", "wait_seconds": 60})
	if turn.Str("answer_at") != up.Client.Base+"/inbox" || !strings.Contains(turn.Str("next"), "decide_approval") {
		t.Fatalf("a turn that waits = %v", turn)
	}
	var pending harness.JSON
	waiting, _ := call("list_approvals", harness.JSON{})
	list, _ := waiting["approvals"].([]any)
	for _, a := range list {
		if a := harness.JSON(a.(map[string]any)); a.Str("turn_id") == turn.Str("turn_id") {
			pending = a
		}
	}
	if pending.Str("tool") != "mesh__uuid" || pending["decide"] != true || waiting.Str("answer_at") != turn.Str("answer_at") {
		t.Fatalf("what waits = %v", waiting)
	}
	decision := harness.JSON{
		"approval_id": pending.Str("approval_id"), "decision": "approve", "arguments_hash": pending.Str("arguments_hash"),
	}
	c.header["X-Agent-Session-Id"] = turn.Str("session_id")
	if _, refused := call("decide_approval", decision); !strings.Contains(refused, "a person has to decide") {
		t.Errorf("an agent decides: %q", refused)
	}
	delete(c.header, "X-Agent-Session-Id")
	other := harness.JSON{"approval_id": pending.Str("approval_id"), "decision": "approve", "arguments_hash": "of-other-arguments"}
	if _, refused := call("decide_approval", other); refused == "" {
		t.Error("a decision about other arguments is accepted")
	}
	if got, refused := call("decide_approval", decision); got.Str("status") != "approved" {
		t.Errorf("decided = %v, %s", got, refused)
	}
	if got, _ := call("wait_for_turn", harness.JSON{"turn_id": turn.Str("turn_id")}); got.Str("status") != "completed" {
		t.Errorf("after the decision = %v", got)
	}
}

// testInheritance has a session start another one, which gets of its params what its agent takes, and call a tool of a server that is sent
// where calls come from.
func testInheritance(t *testing.T, up *harness.Embedded) {
	schema := func(names ...string) harness.JSON {
		properties := harness.JSON{}
		for _, name := range names {
			properties[name] = harness.JSON{"type": "string"}
		}
		return harness.JSON{"type": "object", "properties": properties, "additionalProperties": false}
	}
	up.Client.Must("POST", "/v1/agents", harness.JSON{
		"id": "foreman", "model": "builtin/scripted", "labels": harness.JSON{"capabilities": "build,test"},
		"params_schema": schema("project", "secret_plan"),
	})
	up.Client.Must("POST", "/v1/agents", harness.JSON{"id": "mason", "model": "builtin/scripted", "params_schema": schema("project", "wall")})
	parent := up.Client.Must("POST", "/v1/sessions", harness.JSON{
		"agent_id": "foreman", "params": harness.JSON{"project": "tower", "secret_plan": "x"},
	}).Str("id")
	c := newClient(t, up, "/mcp/orchestrator").initialize(nil)
	c.header["X-Agent-Session-Id"], c.header["X-Agent-Runner-Id"] = parent, "runner-7"
	start := func(arguments harness.JSON) harness.JSON {
		arguments["agent_id"], arguments["message"] = "mason", "hello"
		got := c.result("tools/call", harness.JSON{"name": "start_session", "arguments": arguments})
		session, _ := got["structuredContent"].(map[string]any)["session_id"].(string)
		return up.Client.Must("GET", "/v1/sessions/"+session, nil)
	}
	for _, row := range []struct {
		arguments harness.JSON
		project   string
	}{{harness.JSON{}, "tower"}, {harness.JSON{"params": harness.JSON{"project": "bridge"}}, "bridge"}} {
		child := start(row.arguments)
		labels, params := child["labels"].(map[string]any), child["params"].(map[string]any)
		if labels["parent_session_id"] != parent || labels["parent_agent_id"] != "foreman" ||
			labels["parent_capabilities"] != "build,test" || labels["runner_id"] != "runner-7" {
			t.Errorf("labels = %v", labels)
		}
		if len(params) != 1 || params["project"] != row.project {
			t.Errorf("params = %v", params)
		}
	}
	ledger := filepath.Join(t.TempDir(), "calls")
	up.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "site", "kind": "mcp", "session_context": true,
		"command": []string{harness.Bin(t, "examples/faulty"), "--ledger", ledger},
	})
	tools := newClient(t, up, "/mcp/site")
	tools.header["X-Agent-Session-Id"], tools.header["X-Agent-Runner-Id"] = parent, "runner-7"
	tools.result("tools/call", harness.JSON{"name": "idempotent", "arguments": harness.JSON{"call_id": "brick", "argument": "x"}})
	raw, err := os.ReadFile(ledger)
	harness.Must(t, err)
	for _, want := range []string{
		`"windlass/session_id":"` + parent + `"`, `"windlass/agent_id":"foreman"`, `"windlass/capabilities":"build,test"`,
		`"windlass/runner_id":"runner-7"`, `project`,
	} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("%s is not sent: %s", want, raw)
		}
	}
	tools.header["X-Agent-Session-Id"] = "ses_someone"
	brick := harness.JSON{"name": "idempotent", "arguments": harness.JSON{"call_id": "brick", "argument": "x"}}
	if f := tools.failure("tools/call", brick); f == nil {
		t.Error("a call for another session was made")
	}
}

func testOrchestratorErrors(t *testing.T, c *client) {
	for _, row := range []struct {
		tool      string
		arguments harness.JSON
		want      string
	}{
		{"start_session", harness.JSON{"agent_id": "nobody", "message": "hello"}, "nobody"},
		{"start_session", harness.JSON{"agent": "worker-bee"}, "agent"},
		{"start_session", harness.JSON{"agent_id": "worker-bee"}, "input"},
		{"send_message", harness.JSON{"session_id": "ses_none", "message": "hello"}, "ses_none"},
		{"wait_for_turn", harness.JSON{"turn_id": "trn_none"}, "trn_none"},
		{"read_events", harness.JSON{"turn_id": "trn_none"}, "trn_none"},
	} {
		got := c.result("tools/call", harness.JSON{"name": row.tool, "arguments": row.arguments})
		if got["isError"] != true || !strings.Contains(textOf(got), row.want) {
			t.Errorf("%s %v: %v", row.tool, row.arguments, got)
		}
	}
	if f := c.failure("tools/call", harness.JSON{"name": "eat"}); f["code"] != -32602.0 {
		t.Errorf("unknown tool: %v", f)
	}
	// A session that is not the caller's, or is none, is not believed.
	c.header["X-Agent-Session-Id"] = "ses_someone"
	got := c.result("tools/call", harness.JSON{
		"name": "start_session", "arguments": harness.JSON{"agent_id": "worker-bee", "message": "hello"},
	})
	if got["isError"] != true || !strings.Contains(textOf(got), "ses_someone") {
		t.Errorf("as another session: %v", got)
	}
}
