package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// again runs a turn again, to its end.
func again(c *harness.Client, turn string, req harness.JSON) harness.JSON {
	return c.Wait(c.Must("POST", "/v1/turns/"+turn+":rerun", req).Str("id"))
}

// ledgered is how many calls of a turn the ledger has.
func ledgered(c *harness.Client, turn string) int {
	rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any)
	return len(rows)
}

// TestRerunsOfExecutors: an executor does a turn again in a session of its own, with the results that its calls had, or live ones; it is
// not begun in the middle, where only it knows what it was at.
func TestRerunsOfExecutors(t *testing.T) {
	t.Parallel()
	c := client(t)
	for name, more := range map[string][]string{"starts": nil, "stays": {"--stay"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := "again-" + name
			command := append([]string{harness.Bin(t, "examples/executor-process"), "--state", t.TempDir()}, more...)
			abacus(c, id, harness.JSON{"kind": "process", "command": command})
			session := c.Session(id)
			c.Wait(c.Turn(session, "What is 1+1?"))
			of := c.Wait(c.Turn(session, "What are 6*7 and (1+2)*3?"))
			if of.Str("output") != "6*7 = 42. (1+2)*3 = 9. Sums in this session: 3." || ledgered(c, of.Str("id")) != 2 {
				t.Fatalf("turn = %v", of)
			}
			for tools, calls := range map[string]int{"recorded": 0, "live": 2} {
				end := again(c, of.Str("id"), harness.JSON{"tools": tools})
				if end.Str("status") != "completed" || !strings.HasPrefix(end.Str("output"), "6*7 = 42. (1+2)*3 = 9.") ||
					end.Str("session_id") == session {
					t.Errorf("%s: %v", tools, end)
				}
				if n := ledgered(c, end.Str("id")); n != calls {
					t.Errorf("%s: %d calls in the ledger, want %d", tools, n, calls)
				}
				got := c.Must("GET", "/v1/turns/"+of.Str("id")+":compare?with="+end.Str("id"), nil)
				if list, _ := got["tools"].([]any); len(list) != 2 || list[0].(map[string]any)["same_result"] != true {
					t.Errorf("%s: compared %v", tools, got)
				}
				harness.CheckStream(t, c.Watch("/v1/turns/"+end.Str("id")+"/events").End())
			}
			status, problem, err := c.Do(t.Context(), "POST", "/v1/turns/"+of.Str("id")+":rerun", harness.JSON{"from_step": "2"})
			if err != nil || status != http.StatusBadRequest || !strings.Contains(problem.Str("detail"), "from the start only") {
				t.Errorf("from the middle: %d %v %v", status, problem, err)
			}
			if next := c.Wait(c.Turn(session, "and 2*2?")); next.Str("output") != "2*2 = 4. Sums in this session: 4." {
				t.Errorf("the first session goes on with %v", next)
			}
		})
	}
}

// TestRerunsOfClientTools: the client's earlier results come from the recording, and are requested again if tools are live.
func TestRerunsOfClientTools(t *testing.T) {
	t.Parallel()
	c := client(t)
	c.Must("POST", "/v1/agents", harness.JSON{"id": "opener", "model": "builtin/scripted", "tools": []string{"mesh__uuid"}})
	turn := c.Must("POST", "/v1/sessions/"+c.Session("opener")+"/turns", harness.JSON{
		"input": `call:mesh__uuid {} then call:client__open {"file":"a"}`,
		"tools": []harness.JSON{{
			"name": "open", "description": "Opens a file",
			"input_schema": harness.JSON{"type": "object", "required": []string{"file"}},
		}},
	}).Str("id")
	answer := func(turn, text string) harness.JSON {
		wait := asked(c, turn, "input.requested", 1)[0]
		c.Must("POST", "/v1/approvals/"+wait.Str("id")+":answer", harness.JSON{"result": text})
		return c.Wait(turn)
	}
	if end := answer(turn, "it says hello"); !strings.Contains(end.Str("output"), "it says hello") {
		t.Fatalf("turn = %v", end)
	}
	for name, req := range map[string]harness.JSON{"all": {}, "the middle": {"from_step": "2"}, "the end": {"from_step": "3"}} {
		end := again(c, turn, req)
		if end.Str("status") != "completed" || !strings.Contains(end.Str("output"), "it says hello") || ledgered(c, end.Str("id")) != 0 {
			t.Errorf("%s: %v", name, end)
		}
		if events := typesOf(c.Watch("/v1/turns/" + end.Str("id") + "/events").End()); strings.Contains(strings.Join(events, " "),
			"input.requested") {
			t.Errorf("%s: the client was asked again: %v", name, events)
		}
	}
	for name, req := range map[string]harness.JSON{"live": {"tools": "live"}, "live from the middle": {"tools": "live", "from_step": "2"}} {
		other := c.Must("POST", "/v1/turns/"+turn+":rerun", req).Str("id")
		if end := answer(other, "now it says bye"); !strings.Contains(end.Str("output"), "now it says bye") ||
			strings.Contains(end.Str("output"), "hello") {
			t.Errorf("%s: %v", name, end)
		}
	}
}

// TestAnExecutorWaits: an agent with an executor waits for an approval across a restart of everything, and its executor resumes.
func TestAnExecutorWaits(t *testing.T) {
	t.Parallel()
	for name, more := range map[string][]string{"starts": nil, "stays": {"--stay"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, state := t.TempDir(), t.TempDir()
			up := harness.Up(t, dir, nil)
			command := append([]string{harness.Bin(t, "examples/executor-process"), "--state", state}, more...)
			up.Client.Must("POST", "/v1/agents", harness.JSON{
				"id": "careful", "tools": []string{"calculator__*"}, "executor": harness.JSON{"kind": "process", "command": command},
				"approvals": []harness.JSON{{"name": "sums", "tools": []string{"calculator__*"}, "allow_requester": true}},
			})
			turn := up.Client.Turn(up.Client.Session("careful"), "What are 6*7 and (1+2)*3?")
			first := asked(up.Client, turn, "approval.requested", 2)
			up.Stop()
			up = harness.Up(t, dir, nil)
			var decisions []harness.JSON
			for _, a := range first {
				decisions = append(decisions, harness.JSON{"approval_id": a.Str("id"), "decision": "approve"})
			}
			up.Client.Must("POST", "/v1/approvals:decide", harness.JSON{"decisions": decisions})
			end := up.Client.Wait(turn)
			if end.Str("output") != "6*7 = 42. (1+2)*3 = 9. Sums in this session: 2." || ledgered(up.Client, turn) != 2 {
				t.Errorf("turn = %v", end)
			}
			harness.CheckStream(t, up.Client.Watch("/v1/turns/"+turn+"/events").End())
			live := again(up.Client, turn, harness.JSON{}) // what was approved before needs no leave again: nothing is run
			if !strings.HasPrefix(live.Str("output"), "6*7 = 42. (1+2)*3 = 9.") || ledgered(up.Client, live.Str("id")) != 0 {
				t.Errorf("again: %v", live)
			}
		})
	}
}
