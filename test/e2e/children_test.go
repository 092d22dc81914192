package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestSubAgents is what an agent that calls other agents promises, on one mesh with the scripted model.
func TestSubAgents(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), nil)
	for _, a := range []harness.JSON{
		{"id": "worker", "description": "Computes sums.", "tools": []string{"calculator__*"}},
		{"id": "middle", "description": "Manages workers.", "agents": []string{"worker"}},
		{"id": "boss", "agents": []string{"middle", "work*"}},
		{"id": "flat", "agents": []string{"worker", "flat*"}, "limits": harness.JSON{"max_children": 2}},
		{"id": "deep", "description": "Calls itself by another.", "agents": []string{"deep2*"}, "limits": harness.JSON{"max_depth": 2}},
		{"id": "deep2", "agents": []string{"deep"}, "limits": harness.JSON{"max_depth": 2}},
		{"id": "desk", "strategy": "route", "agents": []string{"worker", "middle"}},
		{"id": "chooser", "strategy": "auto", "agents": []string{"worker", "middle"}},
	} {
		up.Client.Must("POST", "/v1/agents", a)
	}
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"two levels, watched as one":       twoLevels,
		"children at the same time":        manyChildren,
		"a cancel reaches all":             cancelTree,
		"a child that fails is a result":   childFails,
		"limits of number":                 childNumber,
		"limits of depth":                  childDepth,
		"a route is the agent's answer":    routed,
		"auto may choose a route":          chosenRoute,
		"the background calls back":        callsBack,
		"an agent that names nobody fails": namesNobody,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

func ask(agent, message string) string {
	return fmt.Sprintf("call:agent__%s {\"message\": %q}", agent, message)
}

func twoLevels(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("boss"), ask("middle", ask("worker", "slow:20 tokens:30")))
	w := c.Watch("/v1/turns/" + turn + "/events?include=children")
	w.Until("a child's word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w3") })
	w.Cut() // and it resumes by its cursor
	w.UntilType("turn.completed")
	end := c.Wait(turn)
	if !strings.Contains(end.Str("output"), "w29 w30") {
		t.Errorf("turn = %v", end)
	}
	w.Until("the turn's own end", func(e harness.Event) bool { return e.Type == "turn.completed" && e.TurnID == turn })
	bySession := map[string][]harness.Event{}
	var order []string
	for _, e := range w.Events() {
		bySession[e.TurnID] = append(bySession[e.TurnID], e)
		if e.Type == "turn.started" || e.Type == "turn.completed" || e.Type == "child.completed" {
			order = append(order, e.Type+" "+strings.Join(e.AgentPath, "/"))
		}
	}
	if len(bySession) != 3 {
		t.Errorf("events of %d turns, want 3", len(bySession))
	}
	paths := map[string]string{}
	for _, events := range bySession {
		harness.CheckStream(t, events)
		for _, e := range events { // transient ones too
			path := strings.Join(e.AgentPath, "/")
			if known, ok := paths[e.TurnID]; ok && known != path {
				t.Errorf("%s %d of turn %s is of %s, other events of it are of %s", e.Type, e.Seq, e.TurnID, path, known)
			}
			paths[e.TurnID] = path
		}
	}
	want := []string{
		"turn.started boss", "turn.started boss/middle", "turn.started boss/middle/worker", "turn.completed boss/middle/worker",
		"child.completed boss/middle", "turn.completed boss/middle", "child.completed boss", "turn.completed boss",
	}
	if !slices.Equal(order, want) {
		t.Errorf("order is %q", order)
	}
	tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil)
	if got := drawn(tree); got != "boss(middle(worker()))" {
		t.Errorf("tree is %s", got)
	}
	total, _ := tree["total_usage"].(map[string]any)
	if calls, _ := total["model_calls"].(float64); calls != 5 {
		t.Errorf("all of them made %v model calls, want 5", calls)
	}
	child := turnOf(tree, 0)
	if child.Str("parent_turn_id") != turn || child.Str("root_turn_id") != turn {
		t.Errorf("child = %v", child)
	}
	if ses := c.Must("GET", "/v1/sessions/"+child.Str("session_id"), nil); ses.Str("parent_turn_id") != turn {
		t.Errorf("session of the child = %v", ses)
	}
}

func drawn(tree map[string]any) string {
	turn, _ := tree["turn"].(map[string]any)
	children, _ := tree["children"].([]any)
	var below []string
	for _, child := range children {
		m, _ := child.(map[string]any)
		below = append(below, drawn(m))
	}
	return fmt.Sprintf("%v(%s)", turn["agent_id"], strings.Join(below, " "))
}

func turnOf(tree harness.JSON, child int) harness.JSON {
	children, _ := tree["children"].([]any)
	m, _ := children[child].(map[string]any)
	turn, _ := m["turn"].(map[string]any)
	return turn
}

func manyChildren(t *testing.T, c *harness.Client) {
	var calls []string
	for i := range 4 {
		calls = append(calls, ask("worker", fmt.Sprintf("say:answer-%d", i)))
	}
	end := c.Wait(c.Turn(c.Session("boss"), strings.Join(calls, " ")))
	for i := range 4 {
		if !strings.Contains(end.Str("output"), fmt.Sprintf("answer-%d", i)) {
			t.Errorf("answer %d is missing in %v", i, end)
		}
	}
}

func cancelTree(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("boss"), ask("middle", ask("worker", "slow:100 tokens:500")))
	w := c.Watch("/v1/turns/" + turn + "/events?include=children")
	w.Until("a child's word", func(e harness.Event) bool { return strings.Contains(e.Data.Str("text"), "w2") })
	c.Must("POST", "/v1/turns/"+turn+":cancel", harness.JSON{})
	if end := c.Wait(turn); end.Str("status") != "cancelled" {
		t.Errorf("turn = %v", end)
	}
	tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil)
	for depth := 1; depth <= 2; depth++ {
		child := turnOf(tree, 0)
		if end := c.Wait(child.Str("id")); end.Str("status") != "cancelled" {
			t.Errorf("turn %d below = %v", depth, end)
		}
		children, _ := tree["children"].([]any)
		tree, _ = children[0].(map[string]any)
	}
}

func childFails(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(c.Session("boss"), ask("worker", "fail:always say:never")))
	if end.Str("status") != "completed" || !strings.Contains(end.Str("output"), "answered with an error: The agent \"worker\" failed") {
		t.Errorf("turn = %v", end)
	}
}

func childNumber(t *testing.T, c *harness.Client) {
	three := strings.Repeat(ask("worker", "say:yes")+" then ", 3)
	end := c.Wait(c.Turn(c.Session("flat"), strings.TrimSuffix(three, " then ")))
	if got := end.Str("output"); strings.Count(got, "answered: yes") != 2 || !strings.Contains(got, "max_children") {
		t.Errorf("turn = %v", end)
	}
}

func childDepth(t *testing.T, c *harness.Client) {
	end := c.Wait(c.Turn(c.Session("deep"), ask("deep2", ask("deep", ask("deep2", "say:too deep")))))
	if got := end.Str("output"); !strings.Contains(got, "limits.max_depth") {
		t.Errorf("turn = %v", end)
	}
}

func routed(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("desk"), "Please computes sums: say:forty-two")
	end := c.Wait(turn)
	if end.Str("output") != "forty-two" || end.Str("stop_reason") != "end" {
		t.Errorf("turn = %v", end)
	}
	if tree := c.Must("GET", "/v1/turns/"+turn+"/tree", nil); drawn(tree) != "desk(worker())" {
		t.Errorf("tree is %s", drawn(tree))
	}
}

func chosenRoute(t *testing.T, c *harness.Client) {
	turn := c.Turn(c.Session("chooser"), "The one who manages workers, please: say:done")
	w := c.Watch("/v1/turns/" + turn + "/events")
	w.UntilType("turn.completed")
	if got := w.UntilType("strategy.selected").Data.Str("strategy"); got != "route" {
		t.Errorf("strategy %q", got)
	}
	if end := c.Wait(turn); end.Str("output") != "done" {
		t.Errorf("turn = %v", end)
	}
}

func callsBack(t *testing.T, c *harness.Client) {
	session := c.Session("boss")
	turn := c.Turn(session, `call:agent__worker {"message": "slow:20 tokens:20", "background": true} say:asked`)
	if end := c.Wait(turn); end.Str("output") != "asked" {
		t.Errorf("turn = %v", end)
	}
	w := c.Watch("/v1/sessions/" + session + "/events")
	back := w.Until("the callback", func(e harness.Event) bool { return e.Type == "turn.queued" && e.TurnID != turn })
	if end := c.Wait(back.TurnID); !strings.Contains(end.Str("input"), "from the agent \"worker\"") ||
		!strings.Contains(end.Str("input"), "w20") {
		t.Errorf("callback = %v", end)
	}
	turns, _ := c.Must("GET", "/v1/sessions/"+session+"/turns", nil)["turns"].([]any)
	if len(turns) != 2 {
		t.Errorf("%d turns, want 2", len(turns))
	}
}

func namesNobody(t *testing.T, c *harness.Client) {
	status, problem, err := c.Do(t.Context(), "POST", "/v1/agents", harness.JSON{"id": "lonely", "agents": []string{"nobody"}})
	if err != nil || status != 400 || !strings.Contains(fmt.Sprint(problem), "nobody") {
		t.Errorf("an agent that names nobody: %d %v %v", status, problem, err)
	}
}
