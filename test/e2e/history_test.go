package e2e

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/temporal/historytest"
)

// update rewrites the histories used by the replay tests of workflows.
var update = flag.Bool("update", false, "write histories of turns that need the whole mesh into testdata of workflows")

// TestShapesOfTheMesh runs turns whose shapes need more than a worker: sub-agents, a route, a budget, a tool of the client, a re-run
// from the middle of a plan, and a fire of a schedule.
// Their histories replay; with -update they are kept for later versions.
func TestShapesOfTheMesh(t *testing.T) {
	t.Parallel()
	m := harness.Split(t, harness.SplitOptions{Env: []string{inClear}}) // what is kept can be read without a key
	c := m.Client
	for _, a := range []harness.JSON{
		{"id": "worker", "description": "Counts words.", "tools": []string{"mesh__uuid"}},
		{"id": "boss", "agents": []string{"worker"}},
		{"id": "desk", "strategy": "route", "agents": []string{"worker"}},
		{"id": "poor", "tools": []string{"mesh__uuid"}, "limits": harness.JSON{"max_tool_calls": 1}},
		{"id": "asker"},
		{"id": "planner", "strategy": "plan"},
	} {
		a["model"] = "builtin/scripted"
		c.Must("POST", "/v1/agents", a)
	}
	turns := map[string]string{
		"child":  c.Turn(c.Session("boss"), ask("worker", "slow:100 tokens:10")), // outlasts the eager wait: the workflow waits for the child
		"route":  c.Turn(c.Session("desk"), "count words"),
		"budget": c.Turn(c.Session("poor"), "call:mesh__uuid {} then call:mesh__uuid {} then say:done"),
	}
	planned := c.Wait(c.Turn(c.Session("planner"), "1. slow:100 tokens:10\n2. slow:100 tokens:10")).Str("id")
	turns["rerun-plan"] = c.Must("POST", "/v1/turns/"+planned+":rerun", harness.JSON{"from_step": "2"}).Str("id")
	pick := c.Must("POST", "/v1/sessions/"+c.Session("asker")+"/turns", harness.JSON{
		"input": "call:client__pick {} then say:picked", "tools": []harness.JSON{{"name": "pick", "description": "Lets the user pick."}},
	}).Str("id")
	turns["client-tool"] = pick
	question := asked(c, pick, "input.requested", 1)[0]
	c.Must("POST", "/v1/approvals/"+question.Str("id")+":answer", harness.JSON{"result": "this"})
	var ids []string
	for name, id := range turns {
		if end := c.Wait(id); end.Str("status") != "completed" {
			t.Errorf("%s: %v", name, end)
		}
		ids = append(ids, id)
	}
	c.Must("POST", "/v1/schedules", harness.JSON{"id": "clock", "agent_id": "asker", "input": "say:tick", "interval": "1s"})
	fire := fireOf(t, c, "clock")
	m.Replay(t, append(ids, fire)...)
	if !*update || t.Failed() {
		return
	}
	histories := m.Histories(t, append(ids, fire)...)
	historytest.Write(t, filepath.Join(harness.Root(t), "workflows/schedule/testdata/histories"), "fire", histories[fire])
	for name, id := range turns {
		historytest.Write(t, filepath.Join(harness.Root(t), "workflows/turn/testdata/histories"), name, histories[id])
	}
}

// fireOf waits until a schedule has started a turn, and returns the id of the workflow that started it, which Temporal derives from the
// schedule's id and the time.
func fireOf(t *testing.T, c *harness.Client, id string) string {
	t.Helper()
	started(t, c, id, 1)
	for _, one := range c.Must("GET", "/v1/schedules/"+id, nil)["recent"].([]any) {
		if f, _ := one.(map[string]any); f["outcome"] == "started" {
			return contract.ScheduleID("default", id) + "-" + f["time"].(string)
		}
	}
	t.Fatal("no fire has started a turn")
	return ""
}
