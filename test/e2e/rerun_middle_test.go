package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
)

// TestRerunsFromTheMiddleOfAWhole re-runs turns with more than sequential model steps from each of their model steps: plan and choice stay
// as they were, and with recorded results the answer is the same.
func TestRerunsFromTheMiddleOfAWhole(t *testing.T) {
	t.Parallel()
	c := harness.Up(t, t.TempDir(), nil).Client
	c.Must("POST", "/v1/agents", harness.JSON{"id": "broken", "model": "nowhere/none", "description": "Counts words."})
	for id, row := range map[string]struct {
		agent harness.JSON
		input string
		steps int
		plan  string // how its steps end
	}{
		"plan": {
			harness.JSON{"strategy": "plan", "tools": []string{"mesh__uuid"}},
			"1. call:mesh__uuid {} then call:mesh__uuid {\"a\":1}\n2. call:mesh__uuid {}", 6, "completed completed",
		},
		"replan": {
			harness.JSON{"strategy": "plan", "tools": []string{"mesh__uuid"}},
			"1. call:mesh__uuid {}\n2. say:\"STEP FAILED: no way\"\n3. say:never", 4, "completed failed",
		},
		"auto": {
			harness.JSON{"strategy": "auto", "tools": []string{"mesh__uuid"}},
			"1. call:mesh__uuid {}\n2. call:mesh__uuid {}", 5, "completed completed",
		},
		"route": {
			harness.JSON{"strategy": "route", "agents": []string{"broken"}, "tools": []string{"mesh__uuid"}},
			"Counts words: call:mesh__nothing {} then call:mesh__uuid {} then say:over", 3, "",
		},
	} {
		row.agent["id"], row.agent["model"] = id, "builtin/scripted"
		c.Must("POST", "/v1/agents", row.agent)
		of := c.Wait(c.Turn(c.Session(id), row.input))
		w := c.Watch("/v1/turns/" + of.Str("id") + "/events")
		infers := 0
		for _, e := range w.End() {
			if e.Type == "step.started" && e.Data.Str("kind") == "infer" {
				infers++
			}
		}
		if of.Str("status") != "completed" || infers != row.steps {
			t.Errorf("%s: %d model steps, %v", id, infers, of)
		}
		for from := 2; from <= infers; from++ {
			again := c.Wait(c.Must("POST", "/v1/turns/"+of.Str("id")+":rerun", harness.JSON{"from_step": stepkey.Infer(from)}).Str("id"))
			if again.Str("output") != of.Str("output") || again.Str("status") != "completed" {
				t.Errorf("%s from %d: %v\nwas %v", id, from, again, of)
			}
			var kinds []string
			plan, infersNow := "", 0
			w := c.Watch("/v1/turns/" + again.Str("id") + "/events")
			for _, e := range w.End() {
				switch {
				case e.Type == "step.started" && e.Data.Str("kind") == "infer":
					infersNow++
				case e.Type == "step.started":
					kinds = append(kinds, e.Data.Str("kind"))
				case e.Type == "plan.updated":
					plan = statuses(e.Data)
				}
			}
			if infersNow != infers-from+1 || plan != row.plan || strings.Contains(fmt.Sprint(kinds), "select") {
				t.Errorf("%s from %d: %d model steps, plan %q, other steps %v", id, from, infersNow, plan, kinds)
			}
			if list, _ := c.Must("GET", "/v1/executions?turn_id="+again.Str("id"), nil)["executions"].([]any); len(list) != 0 {
				t.Errorf("%s from %d: the ledger has %v", id, from, list)
			}
			// A re-run of the re-run goes on as well.
			if from < infers {
				third := c.Wait(c.Must("POST", "/v1/turns/"+again.Str("id")+":rerun", harness.JSON{"from_step": "2"}).Str("id"))
				if third.Str("output") != of.Str("output") || third.Str("status") != "completed" {
					t.Errorf("%s from %d and then %d: %v", id, from, from+1, third)
				}
			}
		}
	}
	liveFromTheMiddle(t, c)
}

// liveFromTheMiddle: the result of a plan's first step stays, and the second step's call runs again.
func liveFromTheMiddle(t *testing.T, c *harness.Client) {
	t.Helper()
	of := c.Wait(c.Turn(c.Session("plan"), "1. call:mesh__uuid {}\n2. call:mesh__uuid {}"))
	again := c.Wait(c.Must("POST", "/v1/turns/"+of.Str("id")+":rerun", harness.JSON{"from_step": "3", "tools": "live"}).Str("id"))
	was, now := strings.Split(of.Str("output"), "\n"), strings.Split(again.Str("output"), "\n")
	if len(was) != 3 || len(now) != 3 || was[1] != now[1] || was[2] == now[2] {
		t.Errorf("live: %q\nwas %q", now, was)
	}
}

// statuses lists how the steps of a plan stand.
func statuses(plan harness.JSON) string {
	var out []string
	steps, _ := plan["steps"].([]any)
	for _, s := range steps {
		out = append(out, harness.JSON(s.(map[string]any)).Str("status"))
	}
	return strings.Join(out, " ")
}
