package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestReruns runs a turn again whose tool must not be repeated, and looks at the tool server's own ledger: recorded results leave it as it
// was.
func TestReruns(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer { // another model, that goes the same way
		switch asks := strings.Count(fmt.Sprint(messages), "tool_call_id:"); {
		case asks == 0:
			return harness.Answer{Calls: []harness.Call{{ID: "z1", Tool: "again__slow_once", Args: harness.JSON{"ms": 1, "call_id": "c"}}}}
		case asks == 1:
			return harness.Answer{Calls: []harness.Call{{ID: "z2", Tool: "mesh__uuid", Args: harness.JSON{}}}}
		default:
			return harness.Answer{Words: []string{"done", " indeed"}}
		}
	})
	up := harness.Up(t, t.TempDir(), model.Env())
	c := harness.NewClient(t, up.Client.Base)
	ledger := filepath.Join(t.TempDir(), "ledger")
	server := harness.Start(t, "faulty", nil, harness.Bin(t, "examples/faulty"), "--http", "127.0.0.1:0", "--ledger", ledger)
	c.Must("POST", "/v1/sources", harness.JSON{"kind": "mcp", "name": "again", "url": server.Ready["url"]})
	for _, id := range []string{"first", "second"} {
		c.Must("POST", "/v1/agents", harness.JSON{
			"id": id, "model": "builtin/scripted", "tools": []string{"again__*", "mesh__uuid"},
			"approvals": []harness.JSON{{"name": "careful", "tools": []string{"again__*"}, "allow_requester": true}},
		})
	}
	session := c.Session("first")
	c.Wait(c.Turn(session, "say:before"))
	of := c.Turn(session, `call:again__slow_once {"call_id":"c","ms":1} then call:mesh__uuid {} then say:done`)
	w := c.Watch("/v1/turns/" + of + "/events")
	c.Must("POST", "/v1/approvals/"+waits(t, w, c, of).Str("id")+":decide", harness.JSON{"decision": "approve"})
	if end := c.Wait(of); end.Str("output") != "done" || lines(t, ledger, false) != 1 {
		t.Fatalf("%v, the tool server had %d calls", end, lines(t, ledger, false))
	}
	r := reruns{t: t, c: c, of: of, ledger: ledger}
	r.recorded(harness.JSON{"agent_id": "second"}, "done", "builtin/scripted")
	r.recorded(harness.JSON{"model": "openai/other"}, "done indeed", "openai/other")
	r.middle()
	r.missing()
	r.live()
	rerunWholes(t, c)
}

// rerunWholes runs turns again that are more than one model step after the other: what sub-agents said and tools did comes from the
// recordings.
func rerunWholes(t *testing.T, c *harness.Client) {
	t.Helper()
	for id, row := range map[string]struct {
		agent harness.JSON
		input string
		calls int
	}{
		"boss": {
			harness.JSON{"agents": []string{"second"}},
			`call:agent__second {"message":"call:mesh__uuid {} then say:sub"} then say:all done`, 1,
		},
		"plan":  {harness.JSON{"strategy": "plan", "tools": []string{"mesh__uuid"}}, "1. call:mesh__uuid {}\n2. call:mesh__uuid {}", 2},
		"route": {harness.JSON{"strategy": "route", "agents": []string{"second"}}, "second call:mesh__uuid {} then say:routed", 1},
	} {
		row.agent["id"], row.agent["model"] = id, "builtin/scripted"
		c.Must("POST", "/v1/agents", row.agent)
		of := c.Wait(c.Turn(c.Session(id), row.input))
		again := c.Wait(c.Must("POST", "/v1/turns/"+of.Str("id")+":rerun", harness.JSON{}).Str("id"))
		if again.Str("output") != of.Str("output") || again.Str("status") != "completed" || of.Str("output") == "" {
			t.Errorf("%s: %v\nagain %v", id, of, again)
		}
		if tree := c.Must("GET", "/v1/turns/"+again.Str("id")+"/tree", nil); tree["children"] != nil && len(tree["children"].([]any)) > 0 {
			t.Errorf("%s: tree %v", id, tree)
		}
		if list, _ := c.Must("GET", "/v1/executions?turn_id="+again.Str("id"), nil)["executions"].([]any); len(list) != 0 {
			t.Errorf("%s: the ledger has %v", id, list)
		}
		got := c.Must("GET", "/v1/turns/"+of.Str("id")+":compare?with="+again.Str("id"), nil)
		tools, _ := got["tools"].([]any)
		for _, call := range tools {
			if call := harness.JSON(call.(map[string]any)); call["same_result"] != true || call["b"].(map[string]any)["recorded"] != true {
				t.Errorf("%s: call %v", id, call)
			}
		}
		if len(tools) != row.calls {
			t.Errorf("%s: calls %v", id, tools)
		}
	}
}

type reruns struct {
	t          *testing.T
	c          *harness.Client
	of, ledger string
}

// run re-runs the turn; a call that waits for an approval is approved.
func (r reruns) run(req harness.JSON) (end harness.JSON, events []harness.Event) {
	r.t.Helper()
	turn := r.c.Must("POST", "/v1/turns/"+r.of+":rerun", req)
	if turn.Str("rerun_of") != r.of || turn.Str("status") != "queued" {
		r.t.Errorf("turn %v", turn)
	}
	w := r.c.Watch("/v1/turns/" + turn.Str("id") + "/events")
	if req["tools"] == "live" && req["from_step"] == nil {
		r.c.Must("POST", "/v1/approvals/"+waits(r.t, w, r.c, turn.Str("id")).Str("id")+":decide", harness.JSON{"decision": "approve"})
	}
	end = r.c.Wait(turn.Str("id"))
	events = w.End()
	harness.CheckStream(r.t, events)
	return end, events
}

// compare returns the rows of the tool calls in short.
func (r reruns) compare(with harness.JSON) (harness.JSON, []string) {
	r.t.Helper()
	got := r.c.Must("GET", "/v1/turns/"+r.of+":compare?with="+with.Str("id"), nil)
	tools, _ := got["tools"].([]any)
	var rows []string
	for _, row := range tools {
		row := harness.JSON(row.(map[string]any))
		b, _ := row["b"].(map[string]any)
		rows = append(rows, fmt.Sprintf("%s arguments:%v result:%v taken:%v recorded:%v", row.Str("tool"), row["same_arguments"],
			row["same_result"], b["taken_over"], b["recorded"]))
	}
	return got, rows
}

func (r reruns) recorded(req harness.JSON, output, model string) {
	r.t.Helper()
	end, events := r.run(req)
	if end.Str("output") != output || end.Str("model") != model || lines(r.t, r.ledger, false) != 1 {
		r.t.Errorf("%v, the tool server had %d calls", end, lines(r.t, r.ledger, false))
	}
	inOrder(r.t, events, "turn.queued", "turn.rerun", "turn.started", "turn.completed")
	for _, e := range events {
		switch {
		case e.Type == "tool_call.completed" && e.Data["recorded"] != true, e.Type == "approval.requested", e.Type == "tool_call.executing":
			r.t.Errorf("event %s %v", e.Type, e.Data)
		}
	}
	if list, _ := r.c.Must("GET", "/v1/executions?turn_id="+end.Str("id"), nil)["executions"].([]any); len(list) != 0 {
		r.t.Errorf("the ledger has %v", list)
	}
	got, rows := r.compare(end)
	if want := []string{
		"again__slow_once arguments:true result:true taken:false recorded:true",
		"mesh__uuid arguments:true result:true taken:false recorded:true",
	}; !slices.Equal(rows, want) {
		r.t.Errorf("calls %q", rows)
	}
	if answer := got["answer"].(map[string]any); answer["same"] != (output == "done") {
		r.t.Errorf("answer %v", answer)
	}
}

// middle runs the turn again from its second step, with live tools: the first call is not made again.
func (r reruns) middle() {
	r.t.Helper()
	end, _ := r.run(harness.JSON{"from_step": "infer-2", "tools": "live"})
	_, rows := r.compare(end)
	if want := []string{
		"again__slow_once arguments:true result:true taken:true recorded:false",
		"mesh__uuid arguments:true result:false taken:false recorded:false",
	}; end.Str("output") != "done" || lines(r.t, r.ledger, false) != 1 || !slices.Equal(rows, want) {
		r.t.Errorf("%v, the tool server had %d calls; calls %q", end, lines(r.t, r.ledger, false), rows)
	}
}

// missing runs the turn again with a step that its recordings do not have: a re-run of the middle has no first call of its own.
func (r reruns) missing() {
	r.t.Helper()
	other := r.c.Turn(r.c.Session("first"), "call:mesh__uuid {} then say:done")
	r.c.Wait(other)
	again := r.c.Wait(r.c.Must("POST", "/v1/turns/"+other+":rerun", harness.JSON{"model": "openai/other"}).Str("id"))
	if again.Str("output") != "done indeed" || lines(r.t, r.ledger, false) != 1 {
		r.t.Errorf("%v, the tool server had %d calls", again, lines(r.t, r.ledger, false))
	}
	text := fmt.Sprint(r.c.Must("GET", "/v1/sessions/"+again.Str("session_id")+"/messages", nil))
	if !strings.Contains(text, "there is none for this call") {
		r.t.Errorf("messages %s", text)
	}
}

func (r reruns) live() {
	r.t.Helper()
	end, _ := r.run(harness.JSON{"tools": "live"})
	got, rows := r.compare(end)
	if want := []string{
		"again__slow_once arguments:true result:true taken:false recorded:false",
		"mesh__uuid arguments:true result:false taken:false recorded:false",
	}; end.Str("output") != "done" || lines(r.t, r.ledger, false) != 2 || !slices.Equal(rows, want) {
		r.t.Errorf("%v, the tool server had %d calls; calls %q", end, lines(r.t, r.ledger, false), rows)
	}
	if b := got["b"].(map[string]any); b["rerun_of"] != r.of || b["stop_reason"] != "end" {
		r.t.Errorf("comparison %v", got)
	}
}
