package main

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"

	"github.com/windlass-dev/windlass/examples/internal/toolservertest"
)

func TestMain(m *testing.M) { toolservertest.Main(m, main) }

type answer struct {
	Result string
	Value  *float64
	Unit   string
	Status string
}

// TestRoundTrip tests the real process, once per transport.
func TestRoundTrip(t *testing.T) {
	for _, transport := range []struct {
		name    string
		connect func(*testing.T) *client.Client
	}{
		{"stdio", func(t *testing.T) *client.Client { return toolservertest.Stdio(t) }},
		{"http", func(t *testing.T) *client.Client { return toolservertest.Dial(t, toolservertest.HTTP(t)) }},
	} {
		t.Run(transport.name, func(t *testing.T) {
			c := transport.connect(t)
			got := toolservertest.Call[answer](t, c, "evaluate", map[string]any{"expression": "0.1 + 0.2"})
			if got.Result != "0.3" || got.Value == nil || *got.Value != 0.3 {
				t.Errorf("evaluate: %+v", got)
			}
			got = toolservertest.Call[answer](t, c, "evaluate", map[string]any{"expression": "10^400"})
			if got.Result != "1e+400" || got.Value != nil {
				t.Errorf("evaluate beyond a float64: %+v", got)
			}
			got = toolservertest.Call[answer](t, c, "convert", map[string]any{"value": 98.6, "from": "F", "to": "C"})
			if got.Result != "37" || got.Unit != "C" {
				t.Errorf("convert: %+v", got)
			}
			got = toolservertest.Call[answer](t, c, "health_check", map[string]any{})
			if got.Status != "ok" {
				t.Errorf("health_check: %+v", got)
			}
			text := toolservertest.CallError(t, c, "evaluate", map[string]any{"expression": "1 + (2"})
			if text != `at position 7: expected ")", found the end` {
				t.Errorf("error of evaluate: %s", text)
			}
			text = toolservertest.CallError(t, c, "evaluate", map[string]any{"formula": "1"})
			if !strings.Contains(text, "expression") {
				t.Errorf("error of a call with wrong arguments: %s", text)
			}
		})
	}
}

func TestTextAndStructuredAgree(t *testing.T) {
	c := toolservertest.Stdio(t)
	result, err := c.CallTool(t.Context(), toolservertest.Request("evaluate", map[string]any{"expression": "6 * 7"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	if text := toolservertest.Text(t, result); text != "6 * 7 = 42" {
		t.Errorf("text %q", text)
	}
	if got := toolservertest.Structured[answer](t, result); got.Result != "42" {
		t.Errorf("structured %+v", got)
	}
}

// TestToolsDescribeThemselves: a model has only the descriptions to choose by.
func TestToolsDescribeThemselves(t *testing.T) {
	tools := toolservertest.Tools(t, toolservertest.Stdio(t))
	if len(tools) != 3 {
		t.Errorf("%d tools, want 3", len(tools))
	}
	for name, tool := range tools {
		if tool.Description == "" || tool.OutputSchema.Type != "object" {
			t.Errorf("%s: no description or no output schema", name)
		}
		if tool.Annotations.ReadOnlyHint == nil || !*tool.Annotations.ReadOnlyHint {
			t.Errorf("%s is not marked read-only", name)
		}
		for property, schema := range tool.InputSchema.Properties {
			if fields, _ := schema.(map[string]any); fields["description"] == nil {
				t.Errorf("%s: property %s has no description", name, property)
			}
		}
	}
}
