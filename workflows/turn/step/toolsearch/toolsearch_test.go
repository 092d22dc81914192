package toolsearch_test

import (
	"encoding/json"
	"strings"
	"testing"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/toolsearch"
)

func TestUnwrap(t *testing.T) {
	for _, row := range []struct{ tool, arguments, wantTool, want string }{
		{"x__y", `{"a":1}`, "x__y", `{"a":1}`},
		{toolsearch.Call, `{"name":"x__y","arguments":{"a":1}}`, "x__y", `{"a":1}`},
		{toolsearch.Call, `{"name":"x__y","arguments":"{\"a\":1}"}`, "x__y", `{"a":1}`},
		{toolsearch.Call, `{"name":"x__y"}`, "x__y", `{}`},
		{toolsearch.Call, `{"name":"x__y","arguments":null}`, "x__y", `{}`},
		{toolsearch.Call, `{"name":"x__y","arguments":[1]}`, "x__y", `[1]`}, // the registry says what is wrong with it
		{toolsearch.Call, `{"name":"call_tool","arguments":{}}`, toolsearch.Call, `{"name":"call_tool","arguments":{}}`},
		{toolsearch.Call, `{"arguments":{}}`, toolsearch.Call, `{"arguments":{}}`},
		{toolsearch.Call, `nothing`, toolsearch.Call, `nothing`},
	} {
		got := toolsearch.Unwrap(&turnv1.ToolCall{CallId: "c", Tool: row.tool, ArgumentsJson: row.arguments})
		if got.GetTool() != row.wantTool || got.GetArgumentsJson() != row.want || got.GetCallId() != "c" {
			t.Errorf("%s %s: got %v", row.tool, row.arguments, got)
		}
	}
}

func TestWrapIsUnwrapped(t *testing.T) {
	messages := []*turnv1.Message{
		{Role: turnv1.Role_ROLE_ASSISTANT, ToolCalls: []*turnv1.ToolCall{
			{CallId: "1", Tool: "x__hidden", ArgumentsJson: `{"a":1}`},
			{CallId: "2", Tool: "x__shown", ArgumentsJson: `{}`},
			{CallId: "3", Tool: "x__hidden", ArgumentsJson: `no JSON`},
		}},
		{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: "1", Tool: "x__hidden"}},
		{Role: turnv1.Role_ROLE_TOOL, ToolResult: &turnv1.ToolResult{CallId: "2", Tool: "x__shown"}},
	}
	wrapped := toolsearch.Wrap(messages, func(tool string) bool { return tool == "x__shown" })
	calls := wrapped[0].GetToolCalls()
	if calls[0].GetTool() != toolsearch.Call || calls[1].GetTool() != "x__shown" || wrapped[1].GetToolResult().GetTool() != toolsearch.Call ||
		wrapped[2].GetToolResult().GetTool() != "x__shown" {
		t.Errorf("wrapped: %v", wrapped)
	}
	for i, call := range messages[0].GetToolCalls() {
		if call.GetTool() == toolsearch.Call {
			t.Errorf("the conversation was modified: %v", call)
		}
		if again := toolsearch.Unwrap(calls[i]); again.GetTool() != call.GetTool() || again.GetArgumentsJson() != call.GetArgumentsJson() {
			t.Errorf("%v became %v", call, again)
		}
	}
}

func TestQueries(t *testing.T) {
	for arguments, want := range map[string]toolsearch.Query{
		`{"query":"a"}`:            {Text: "a", Limit: 5},
		`{"query":"a","limit":3}`:  {Text: "a", Limit: 3},
		`{"query":"a","limit":99}`: {Text: "a", Limit: 20},
	} {
		if got, ok := toolsearch.Read(arguments); !ok || got != want {
			t.Errorf("%s: got %v, %v", arguments, got, ok)
		}
	}
	for _, arguments := range []string{`{}`, `nothing`, `{"query":7}`, `{"query":"a","limit":-1}`, `{"query":"` + strings.Repeat("a", 1001) + `"}`} {
		if got, ok := toolsearch.Read(arguments); ok {
			t.Errorf("%.40s: got %v", arguments, got)
		}
	}
}

func TestFoundToolsFit(t *testing.T) {
	var many []*inferencev1.ToolDefinition
	for range 20 {
		many = append(many, &inferencev1.ToolDefinition{Name: "x__y", Description: strings.Repeat("long ", 2000), InputSchemaJson: `{"type":"object"}`})
	}
	text := toolsearch.Found(many)
	if len(text) > 33<<10 || !strings.HasPrefix(text, `{"name":"x__y"`) {
		t.Errorf("%d bytes: %.100s", len(text), text)
	}
	if text := toolsearch.Found([]*inferencev1.ToolDefinition{{Name: "x__y", InputSchemaJson: "broken"}}); !strings.Contains(text, `"input_schema":{}`) {
		t.Errorf("got %s", text)
	}
	if text := toolsearch.Found(nil); !strings.Contains(text, "No tool fits") {
		t.Errorf("got %s", text)
	}
	for _, d := range toolsearch.Definitions(500) {
		if !json.Valid([]byte(d.GetInputSchemaJson())) {
			t.Errorf("schema of %s", d.GetName())
		}
	}
}
