// Package eval measures how well a model does what the mesh asks of it. Without a model it is run with the scripted one, so that the
// evaluation itself is tested.
package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/windlass-dev/windlass/test/harness"
)

// modelEnv names the model that is evaluated, as "provider/model". Its key comes from the environment as for `windlass up`.
const modelEnv = "WINDLASS_EVAL_MODEL"

const scripted = "builtin/scripted"

// requests is the table that the selector's rules are tested with too.
type requests struct {
	Agents []struct {
		ID          string `json:"id"`
		Description string `json:"description"`
	} `json:"agents"`
	Requests []struct {
		Request    string `json:"request"`
		Alone      string `json:"alone"`
		WithAgents string `json:"with_agents"`
	} `json:"requests"`
}

// TestSelector lets a model choose the strategy for each request: for an agent with tools, and for one that has specialised agents too. It
// prints what it chose and how often that was what a person would have chosen. Only the scripted model has to be right always.
func TestSelector(t *testing.T) {
	model := os.Getenv(modelEnv)
	if model == "" {
		model = scripted
	}
	var table requests
	raw, err := os.ReadFile(filepath.Join(harness.Root(t), "workflows/contract/rules/testdata/requests.json"))
	if err == nil {
		err = json.Unmarshal(raw, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := harness.Up(t, t.TempDir(), os.Environ()).Client
	var ids []string
	for _, a := range table.Agents {
		c.Must("POST", "/v1/agents", harness.JSON{"id": a.ID, "description": a.Description, "model": model})
		ids = append(ids, a.ID)
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "alone", "model": model, "strategy": "auto"})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "with-agents", "model": model, "strategy": "auto", "agents": ids})

	var report strings.Builder
	out := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	right, asked := 0, 0
	judge := func(agent, request, want string) {
		got, reason := chosen(c, agent, request)
		asked++
		mark := "-"
		if got == want {
			right++
			mark = "+"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\n", mark, got, want, request, reason)
	}
	for _, row := range table.Requests {
		judge("alone", row.Request, row.Alone)
		judge("with-agents", row.Request, row.WithAgents)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s chose as a person would %d times of %d (chosen, wanted, request, reason):\n%s", model, right, asked, report.String())
	if model == scripted && right != asked {
		t.Error("the scripted model chose otherwise")
	}
}

// chosen returns the strategy that was selected, with the agent where it is a route, and why. The turn is cancelled then.
func chosen(c *harness.Client, agent, request string) (choice, reason string) {
	turn := c.Must("POST", "/v1/sessions/"+c.Session(agent)+"/turns", harness.JSON{"input": request, "tools": operatorTools()}).Str("id")
	w := c.Watch("/v1/turns/" + turn + "/events")
	selected := w.Until("a strategy, or the end", func(e harness.Event) bool {
		return e.Type == "strategy.selected" || e.Type == "turn.failed"
	})
	choice, reason = selected.Data.Str("strategy"), selected.Data.Str("reason")
	if selected.Type == "turn.failed" {
		return "failed", fmt.Sprint(selected.Data["error"])
	}
	if choice == "route" {
		child := w.Until("the agent, or the end", func(e harness.Event) bool { return e.Type == "child.started" || e.Type == "turn.failed" })
		choice += " " + child.Data.Str("agent_id")
	}
	if _, _, err := c.Do(context.Background(), "POST", "/v1/turns/"+turn+":cancel", harness.JSON{"reason": "evaluated"}); err != nil {
		return choice, err.Error()
	}
	c.Wait(turn) // it may have ended before the cancel came
	return choice, reason
}

// operatorTools are what an operator's agent could call; nobody will run them.
func operatorTools() []harness.JSON {
	tool := func(name, description string, params ...string) harness.JSON {
		properties := harness.JSON{}
		for _, p := range params {
			properties[p] = harness.JSON{"type": "string"}
		}
		return harness.JSON{"name": name, "description": description, "input_schema": harness.JSON{"type": "object", "properties": properties}}
	}
	return []harness.JSON{
		tool("list_clusters", "Lists the registered clusters with their locations."),
		tool("register_cluster", "Registers a cluster.", "name", "api_server"),
		tool("get_health", "Tells the health of a cluster and its nodes.", "cluster"),
		tool("get_pods", "Lists the pods of a cluster with state and number of restarts.", "cluster"),
		tool("restart_pod", "Restarts a pod.", "cluster", "pod"),
		tool("get_usage", "Tells the use of resources of a cluster by workload.", "cluster"),
		tool("get_forecast", "Tells the weather forecast of a place.", "place"),
	}
}
