package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// priced makes a token of builtin/scripted cost one millionth when it is read, ten when it is written.
const priced = `
inference:
  prices:
    - {model: builtin/*, input: 1, output: 10}
`

// TestBudgets has limits stop turns, on one mesh whose model has a price.
func TestBudgets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "windlass.yaml")
	if err := os.WriteFile(file, []byte(priced), 0o600); err != nil {
		t.Fatal(err)
	}
	up := harness.Up(t, filepath.Join(dir, "data"), nil, "--config", file)
	for name, test := range map[string]func(*testing.T, *harness.Client){
		"cut an answer where the money ends":      moneyEnds,
		"stop a turn before it asks again":        nothingLeft,
		"limit the tool calls of a turn":          toolCallsEnd,
		"hold over the sessions of an agent":      overSessions,
		"free the turns when they are deleted":    deletedBudget,
		"are refused when they make no sense":     badBudgets,
		"leave turns alone that they are not for": otherAgents,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, harness.NewClient(t, up.Client.Base))
		})
	}
}

func send(c *harness.Client, session, input string, limits harness.JSON) string {
	return c.Must("POST", "/v1/sessions/"+session+"/turns", harness.JSON{"input": input, "limits": limits}).Str("id")
}

// told returns the newest event of a type in a turn's stream.
func told(t *testing.T, c *harness.Client, turn, typ string) harness.JSON {
	t.Helper()
	events := c.Watch("/v1/turns/" + turn + "/events").End()
	harness.CheckStream(t, events)
	for _, e := range events {
		if e.Type == typ {
			return e.Data
		}
	}
	t.Fatalf("turn %s has no %s", turn, typ)
	return nil
}

func fieldOf(j harness.JSON, path ...string) string {
	var v any = map[string]any(j)
	for _, key := range path {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return fmt.Sprint(v)
}

func moneyEnds(t *testing.T, c *harness.Client) {
	turn := send(c, agent(c, "spender", nil), "slow:1 tokens:2000", harness.JSON{"max_cost": "0.005"})
	end := c.Wait(turn)
	if end.Str("status") != "completed" || end.Str("stop_reason") != "budget" || !strings.HasPrefix(end.Str("output"), "w1 w2 w3") {
		t.Errorf("turn = %.300v", end)
	}
	over := told(t, c, turn, "budget.exhausted")
	if fieldOf(over, "use", "scope") != "turn" || fieldOf(over, "use", "what") != "cost" || fieldOf(over, "use", "limit") != "5000" {
		t.Errorf("exhausted: %v", over)
	}
	var cost int
	if _, err := fmt.Sscan(fieldOf(end, "usage", "cost_micros"), &cost); err != nil || cost < 3000 || cost > 5000 {
		t.Errorf("it cost %d: %v", cost, end["usage"])
	}
	for _, e := range c.Watch("/v1/turns/" + turn + "/events").End() {
		if e.Type == "budget.warning" {
			t.Errorf("warned of a limit that the same answer exhausted: %v", e.Data)
		}
	}
	if limits, _ := end["limits"].(map[string]any); limits["max_cost"] != "0.005" {
		t.Errorf("limits = %v", end["limits"])
	}
}

func nothingLeft(t *testing.T, c *harness.Client) {
	turn := send(c, agent(c, "talker", nil), `call:mesh__uuid {"n":"$n"} loop:50 then say:done`,
		harness.JSON{"max_cost": "0.02", "max_steps": 20})
	end := c.Wait(turn)
	if end.Str("status") != "completed" || end.Str("stop_reason") != "budget" && end.Str("stop_reason") != "max_steps" {
		t.Errorf("turn = %v", end)
	}
	turn = send(c, c.Session("talker"), "say:never", harness.JSON{"max_cost": "0.000001"})
	end = c.Wait(turn)
	if end.Str("stop_reason") != "budget" || end.Str("output") != "" || fieldOf(end, "usage", "cost_micros") != "0" {
		t.Errorf("turn = %v", end)
	}
}

func toolCallsEnd(t *testing.T, c *harness.Client) {
	turn := send(c, agent(c, "caller", nil), "call:mesh__uuid {} call:mesh__current_time {} call:mesh__uuid {} say:done",
		harness.JSON{"max_tool_calls": 2})
	end := c.Wait(turn)
	if end.Str("stop_reason") != "budget" || fieldOf(end, "usage", "tool_calls") != "2" {
		t.Errorf("turn = %v", end)
	}
	if over := told(t, c, turn, "budget.exhausted"); fieldOf(over, "use", "what") != "tool_calls" || fieldOf(over, "use", "limit") != "2" {
		t.Errorf("exhausted: %v", over)
	}
	// The conversation goes on, with the call that was not made answered for the model.
	if next := c.Wait(c.Turn(end.Str("session_id"), "say:fine")); next.Str("output") != "fine" {
		t.Errorf("the next turn: %v", next)
	}
}

func budget(c *harness.Client, body harness.JSON) string {
	return c.Must("POST", "/v1/budgets", body).Str("id")
}

func overSessions(t *testing.T, c *harness.Client) {
	first := agent(c, "daily", nil)
	id := budget(c, harness.JSON{"scope": "agent", "target": "daily", "period": "day", "max_tokens": 2500})
	if end := c.Wait(c.Turn(first, "tokens:700")); end.Str("stop_reason") != "end" { // 700 words, about 900 tokens
		t.Fatalf("the first turn: %.300v", end)
	}
	if end := c.Wait(c.Turn(c.Session("daily"), "tokens:2000")); end.Str("stop_reason") != "budget" {
		t.Errorf("the second session: %.300v", end)
	}
	now := c.Must("GET", "/v1/budgets/"+id, nil)
	var used int
	if _, err := fmt.Sscan(now.Str("used_tokens"), &used); err != nil || used < 1000 || used > 2500 || now.Str("reserved_tokens") != "0" {
		t.Errorf("budget = %v", now)
	}
	if now.Str("period_start") == "" {
		t.Errorf("budget = %v", now)
	}
}

func deletedBudget(t *testing.T, c *harness.Client) {
	session := agent(c, "bound", nil)
	id := budget(c, harness.JSON{"scope": "session", "target": session, "max_tokens": 1})
	if end := c.Wait(c.Turn(session, "say:hello")); end.Str("stop_reason") != "budget" {
		t.Errorf("under a budget: %v", end)
	}
	c.Must("PATCH", "/v1/budgets/"+id, harness.JSON{"max_tokens": 100000})
	if end := c.Wait(c.Turn(session, "say:hello")); end.Str("output") != "hello" {
		t.Errorf("under a larger budget: %v", end)
	}
	c.Must("PATCH", "/v1/budgets/"+id, harness.JSON{"max_tokens": 1})
	c.Must("DELETE", "/v1/budgets/"+id, nil)
	if end := c.Wait(c.Turn(session, "say:hello")); end.Str("output") != "hello" {
		t.Errorf("without a budget: %v", end)
	}
}

func badBudgets(t *testing.T, c *harness.Client) {
	for _, body := range []harness.JSON{{"scope": "agent", "max_tokens": 1}, {"scope": "tenant"}, {"scope": "tenant", "max_cost": "-1"}} {
		status, out, err := c.Do(t.Context(), "POST", "/v1/budgets", body)
		if err != nil || status != 400 || out.Str("code") != "invalid_argument" {
			t.Errorf("%v: %d %v %v", body, status, out, err)
		}
	}
	session := agent(c, "strict", harness.JSON{"max_tool_calls": 3})
	status, out, err := c.Do(t.Context(), "POST", "/v1/sessions/"+session+"/turns",
		harness.JSON{"input": "say:x", "limits": harness.JSON{"max_tool_calls": 4}})
	if err != nil || status != 400 || !strings.Contains(fmt.Sprint(out), "limits.max_tool_calls") {
		t.Errorf("more than the agent allows: %d %v %v", status, out, err)
	}
}

func otherAgents(t *testing.T, c *harness.Client) {
	agent(c, "somebody-else", nil)
	budget(c, harness.JSON{"scope": "agent", "target": "somebody-else", "max_tokens": 1, "max_cost": "0.000001", "max_tool_calls": 1})
	end := c.Wait(c.Turn(agent(c, "free", nil), "call:mesh__uuid {} call:mesh__current_time {} then say:fine"))
	if end.Str("output") != "fine" {
		t.Errorf("turn = %v", end)
	}
}
