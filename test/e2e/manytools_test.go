package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestAModelFindsItsToolsAmongMany gives an agent more tools than its model is shown. The pair with which the model finds and calls them
// leaves no trace: what is approved, recorded and shown are calls of the tools.
func TestAModelFindsItsToolsAmongMany(t *testing.T) {
	t.Parallel()
	tools := map[string]string{"send_invoice": "Sends an invoice to a customer by mail."}
	for i := range 120 {
		tools[fmt.Sprintf("thing_%d", i)] = fmt.Sprintf("Does the thing with number %d.", i)
	}
	server := newToolServer(t, tools)
	var shown [][]string
	model := harness.NewModel(t, func(_ int, messages []any) harness.Answer {
		last, _ := messages[len(messages)-1].(map[string]any)
		text, _ := last["content"].(string)
		switch {
		case last["role"] != "tool":
			return harness.Answer{Calls: []harness.Call{{ID: "c1", Tool: "find_tools", Args: harness.JSON{"query": "mail an invoice", "limit": 2}}}}
		case strings.Contains(text, "many__send_invoice"):
			shown = append(shown, called(messages))
			return harness.Answer{Calls: []harness.Call{{ID: "c2", Tool: "call_tool", Args: harness.JSON{
				"name": "many__send_invoice", "arguments": harness.JSON{},
			}}}}
		default:
			shown = append(shown, called(messages))
			return harness.Answer{Words: []string{"The tool said: ", text}}
		}
	})
	c := harness.Up(t, t.TempDir(), model.Env()).Client
	c.Must("POST", "/v1/sources", harness.JSON{"name": "many", "kind": "mcp", "url": server.URL})
	c.Must("POST", "/v1/agents", harness.JSON{
		"id": "searcher", "tools": []string{"many__*"}, "model": "openai/model",
		"approvals": []any{harness.JSON{"name": "invoices", "tools": []string{"many__send_invoice"}, "allow_requester": true}},
	})
	turn := c.Turn(c.Session("searcher"), "Send the invoice.")
	w := c.Watch("/v1/turns/" + turn + "/events")
	asked := w.UntilType("approval.requested")
	if asked.Data.Str("tool") != "many__send_invoice" {
		t.Errorf("asked = %v", asked.Data)
	}
	c.Must("POST", "/v1/approvals/"+asked.Data.Str("approval_id")+":decide", harness.JSON{"decision": "approve"})
	events := w.End()
	harness.CheckStream(t, events)
	got := c.Wait(turn)
	if got.Str("output") != "The tool said: done" || fmt.Sprint(got["tools_used"]) != "[find_tools many__send_invoice]" {
		t.Errorf("turn = %v", got)
	}
	if rows, _ := c.Must("GET", "/v1/executions?turn_id="+turn, nil)["executions"].([]any); len(rows) != 1 ||
		harness.JSON(rows[0].(map[string]any)).Str("tool") != "many__send_invoice" {
		t.Errorf("ledger = %v", rows)
	}
	// The model sees its own calls, as it made them.
	if fmt.Sprint(shown) != "[[find_tools] [find_tools call_tool]]" {
		t.Errorf("the model sees the calls %v", shown)
	}
}

// called returns the tools that the messages of a conversation call.
func called(messages []any) []string {
	var tools []string
	for _, m := range messages {
		message, _ := m.(map[string]any)
		made, _ := message["tool_calls"].([]any)
		for _, c := range made {
			call, _ := c.(map[string]any)
			function, _ := call["function"].(map[string]any)
			name, _ := function["name"].(string)
			tools = append(tools, name)
		}
	}
	return tools
}
