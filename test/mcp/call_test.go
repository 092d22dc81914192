package mcp

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// testFailures tells a tool that says no from one that did not run.
func testFailures(t *testing.T, up *harness.Embedded) {
	c := newClient(t, up, "/mcp").initialize(nil)
	said := c.result("tools/call", harness.JSON{"name": "faulty__fail", "arguments": harness.JSON{"message": "no"}})
	if said["isError"] != true || textOf(said) != "no" {
		t.Errorf("a tool that fails: %v", said)
	}
	wrong := c.result("tools/call", harness.JSON{"name": "calculator__evaluate", "arguments": harness.JSON{"expression": 7}})
	if wrong["isError"] != true || !strings.Contains(textOf(wrong), "arguments/expression") {
		t.Errorf("wrong arguments: %v", wrong)
	}
	for _, name := range []string{"faulty__nothing", "nobody__nothing", "nothing"} {
		if f := c.failure("tools/call", harness.JSON{"name": name}); f["code"] != -32602.0 || !strings.Contains(f["message"].(string), name) {
			t.Errorf("unknown tool: %v", f)
		}
	}
	// A call that may have run and is not repeated is an error that says so, and no result.
	f := c.failure("tools/call", harness.JSON{"name": "faulty__crash"})
	if data, _ := f["data"].(map[string]any); data["code"] != "outcome_unknown" {
		t.Errorf("a server that ends in a call: %v", f)
	}
	if f := newClient(t, up, "/mcp/"+away).failure("resources/read", harness.JSON{"uri": "a:b"}); f["code"] != -32603.0 {
		t.Errorf("a server that is away: %v", f)
	} else if data, _ := f["data"].(map[string]any); data["code"] != "tool_unavailable" || !strings.Contains(f["message"].(string), away) {
		t.Errorf("a server that is away: %v", f)
	}
	// A key makes a repeated call the same execution.
	key := harness.JSON{"windlass/idempotency_key": "mcp-once"}
	once := harness.JSON{"name": "mesh__uuid", "_meta": key}
	if a, b := textOf(c.result("tools/call", once)), textOf(c.result("tools/call", once)); a != b {
		t.Errorf("one key, two results: %s and %s", a, b)
	}
}

// testQuestions answers tools in the new era, where the answer comes with another request.
func testQuestions(t *testing.T, up *harness.Embedded) {
	able := harness.JSON{"elicitation": harness.JSON{}, "sampling": harness.JSON{}}
	ask := harness.JSON{"name": "mesh__ask_user", "arguments": harness.JSON{"question": "why?"}}
	c := newClient(t, up, "/mcp").asModern(able)
	asked := c.result("tools/call", ask)
	state, _ := asked["requestState"].(string)
	if asked["resultType"] != "input_required" || state == "" {
		t.Fatalf("asked = %v", asked)
	}
	again := func(state string, responses harness.JSON) harness.JSON {
		return harness.JSON{"name": "mesh__ask_user", "arguments": ask["arguments"], "requestState": state, "inputResponses": responses}
	}
	good := harness.JSON{"question": harness.JSON{"action": "accept", "content": harness.JSON{"answer": "because"}}}
	for name, params := range map[string]harness.JSON{
		"a changed state":     again(state[:len(state)-8]+"AAAAAAAA", good),
		"another state":       again("bm90aGluZw", good),
		"no answer":           again(state, harness.JSON{}),
		"an answer of no use": again(state, harness.JSON{"question": harness.JSON{"action": "eat"}}),
	} {
		if f := c.failure("tools/call", params); f["code"] != -32602.0 {
			t.Errorf("%s: %v", name, f)
		}
	}
	if got := c.result("tools/call", again(state, good)); !strings.Contains(textOf(got), "because") {
		t.Errorf("answered = %v", got)
	}
	if got := c.result("tools/call", again(state, good)); !strings.Contains(textOf(got), "because") { // the same answer again: the same result
		t.Errorf("answered twice = %v", got)
	}
	// A client that cannot show forms is not asked.
	mute := newClient(t, up, "/mcp").asModern(harness.JSON{})
	for _, name := range []string{"modern__test_elicitation", "legacy__test_elicitation"} {
		got := mute.result("tools/call", harness.JSON{"name": name, "arguments": harness.JSON{"message": "?"}})
		if got["resultType"] != "complete" {
			t.Errorf("%s: %v", name, got)
		}
	}
	// What a source does not allow is not passed on.
	up.Client.Must("PATCH", "/v1/sources/"+modern, harness.JSON{"client_requests": []string{}})
	got := c.result("tools/call", harness.JSON{"name": "modern__test_sampling", "arguments": harness.JSON{"prompt": "?"}})
	if got["isError"] != true {
		t.Errorf("sampling that is not allowed: %v", got)
	}
	up.Client.Must("PATCH", "/v1/sources/"+modern, harness.JSON{"client_requests": []string{"sampling", "roots"}})
}

// changes are the notifications outside of calls, with tools that cause them; servers of both eras send some.
var changes = map[string]string{
	"notifications/tools/list_changed": "modern__test_trigger_tool_change", "notifications/resources/updated": "legacy__test_touch_resource",
	"notifications/resources/list_changed": "legacy__test_trigger_resource_change",
	"notifications/prompts/list_changed":   "modern__test_trigger_prompt_change",
}

// testNotifications has several calls of one session report progress at once: each stream has its own call's and nothing else.
func testNotifications(t *testing.T, up *harness.Embedded) {
	c := newClient(t, up, "/mcp").initialize(nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, nil)
	harness.Must(t, err)
	req.Header.Set("Mcp-Session-Id", c.header["Mcp-Session-Id"])
	req.Header.Set("Accept", "text/event-stream")
	standing, err := http.DefaultClient.Do(req)
	harness.Must(t, err)
	defer standing.Body.Close()
	var calls sync.WaitGroup
	for i, token := range []string{"a", "b", "c"} {
		count := 20 + i
		calls.Go(func() {
			res := c.post(harness.JSON{"jsonrpc": "2.0", "id": token, "method": "tools/call", "params": harness.JSON{
				"name": "faulty__progress", "arguments": harness.JSON{"count": count}, "_meta": harness.JSON{"progressToken": token},
			}})
			defer res.Body.Close()
			all := messages(t, res)
			for _, m := range all[:len(all)-1] {
				if params, _ := m["params"].(map[string]any); params["progressToken"] != token || params["total"] != float64(count) {
					t.Errorf("call %s: its stream has %v", token, m)
				}
			}
			if len(all) < 2 || all[len(all)-1]["id"] != token {
				t.Errorf("call %s: %v", token, all)
			}
		})
	}
	calls.Wait()
	c.do("resources/subscribe", harness.JSON{"uri": "legacy+test://watched-resource"})
	change := newClient(t, up, "/mcp").asModern(harness.JSON{})
	listening := change.post(change.request("listen", "subscriptions/listen", harness.JSON{
		"notifications": harness.JSON{
			"toolsListChanged": true, "resourcesListChanged": true, "promptsListChanged": true,
			"resourceSubscriptions": []string{"legacy+test://watched-resource"},
		},
	}))
	defer listening.Body.Close()
	next := events(t, listening.Body)
	if m := next(); m["method"] != "notifications/subscriptions/acknowledged" {
		t.Fatalf("first message of a subscription: %v", m)
	}
	seen := map[string]bool{}
	touch := newClient(t, up, "/mcp")
	for len(seen) < len(changes) {
		for _, tool := range changes {
			touch.result("tools/call", harness.JSON{"name": tool})
		}
		m := next()
		if m == nil {
			t.Fatal("the subscription ended")
		}
		params, _ := m["params"].(map[string]any)
		meta, _ := params["_meta"].(map[string]any)
		if meta["io.modelcontextprotocol/subscriptionId"] != "listen" {
			t.Errorf("message of a subscription: %v", m)
		}
		seen[m["method"].(string)] = true
	}
	// The stream of the session was open all the time, and had nothing of the calls. Its messages come in any order, and several that say the
	// same may come as one.
	heard := events(t, standing.Body)
	for missing := maps.Clone(changes); len(missing) > 0; {
		for _, tool := range missing {
			touch.result("tools/call", harness.JSON{"name": tool})
		}
		m := heard()
		if m == nil || m["method"] == "notifications/progress" {
			t.Fatalf("the session's stream has %v", m)
		}
		method, _ := m["method"].(string)
		delete(missing, method)
	}
}

// testCancel has two clients make calls with one id: a cancellation ends that of its own session only, and reaches the tool.
func testCancel(t *testing.T, up *harness.Embedded) {
	dir := t.TempDir()
	ledger, release := filepath.Join(dir, "ledger"), filepath.Join(dir, "release")
	up.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "cancelled", "kind": "mcp", "command": []string{harness.Bin(t, "examples/faulty"), "--ledger", ledger},
	})
	alice, bob := newClient(t, up, "/mcp").initialize(nil), newClient(t, up, "/mcp").initialize(nil)
	results := map[*client]chan harness.JSON{alice: make(chan harness.JSON, 1), bob: make(chan harness.JSON, 1)}
	for name, c := range map[string]*client{"alice": alice, "bob": bob} {
		go func() {
			res := c.post(c.request(7, "tools/call", harness.JSON{
				"name": "cancelled__slow_once", "arguments": harness.JSON{"call_id": name, "release_file": release},
			}))
			defer res.Body.Close()
			all := messages(t, res)
			results[c] <- all[len(all)-1]
		}()
	}
	recorded := func(texts ...string) func() bool {
		return func() bool {
			raw, _ := os.ReadFile(ledger)
			for _, text := range texts {
				if !strings.Contains(string(raw), text) {
					return false
				}
			}
			return true
		}
	}
	if !harness.Eventually(time.Minute, recorded("alice", "bob")) {
		t.Fatal("the calls did not arrive")
	}
	cancel := harness.JSON{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": harness.JSON{"requestId": 7}}
	for _, c := range []*client{newClient(t, up, "/mcp"), alice} { // the first belongs to no session
		res := c.post(cancel)
		res.Body.Close()
		if res.StatusCode != http.StatusAccepted {
			t.Errorf("cancelled: %s", res.Status)
		}
	}
	if m := <-results[alice]; m["error"] == nil {
		t.Errorf("cancelled call: %v", m)
	}
	if !harness.Eventually(time.Minute, recorded(`"cancelled":true`)) {
		t.Error("the tool was not told")
	}
	harness.Must(t, os.WriteFile(release, nil, 0o600))
	if m := <-results[bob]; m["result"] == nil {
		t.Errorf("the other client's call: %v", m)
	}
}
