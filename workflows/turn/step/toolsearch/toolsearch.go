// Package toolsearch is for turns with more tools than a model should be shown: the model finds tools by words with one tool and calls
// them with another. Only the model knows the pair. What is committed is the call of the tool itself, so pinning, policy, approvals and
// the ledger are those of any call.
package toolsearch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/proto"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Names of the pair. No tool of a source has such a name: those have two underscores in a row.
const (
	Find = "find_tools"
	Call = "call_tool"
)

// Limits of what one search finds.
const (
	usual = 5
	most  = 20
	// maxText limits the text of a result in bytes: it must not become an artifact.
	maxText = 32 << 10
)

// Definitions returns the pair as a model reads it, for a turn with a number of tools.
func Definitions(tools int) []*inferencev1.ToolDefinition {
	return []*inferencev1.ToolDefinition{
		{
			Name: Find,
			Description: fmt.Sprintf("Finds tools by what they do. There are %d tools, which are not listed here: search before you say that "+
				"something cannot be done. Returns the best tools with their names, descriptions and the schemas of their arguments.", tools),
			InputSchemaJson: `{"type":"object","properties":{` +
				`"query":{"type":"string","minLength":1,"maxLength":1000,"description":"what the tool should do, in a few words"},` +
				`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"number of tools to return; 5 when left out"}},` +
				`"required":["query"],"additionalProperties":false}`,
		},
		{
			Name:        Call,
			Description: "Calls a tool that " + Find + " has found.",
			InputSchemaJson: `{"type":"object","properties":{` +
				`"name":{"type":"string","description":"name of the tool"},` +
				`"arguments":{"type":"object","description":"arguments of the tool, as its schema says"}},` +
				`"required":["name","arguments"],"additionalProperties":false}`,
		},
	}
}

// Unwrap returns the call of a tool that a model made with the pair. Any other call, and one that names no tool, is returned as it is.
func Unwrap(call *turnv1.ToolCall) *turnv1.ToolCall {
	if call.GetTool() != Call {
		return call
	}
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal([]byte(call.GetArgumentsJson()), &p) != nil || p.Name == "" || p.Name == Call {
		return call
	}
	arguments := string(bytes.TrimSpace(p.Arguments))
	var text string
	switch {
	case arguments == "" || arguments == "null":
		arguments = "{}"
	case json.Unmarshal(p.Arguments, &text) == nil: // some models write JSON into a string
		arguments = text
	}
	return &turnv1.ToolCall{CallId: call.GetCallId(), Tool: p.Name, ArgumentsJson: arguments}
}

// Wrap returns a conversation as the model knows it: calls of tools that it is not shown are made with the pair. The given messages are not
// modified.
func Wrap(messages []*turnv1.Message, shown func(tool string) bool) []*turnv1.Message {
	out := make([]*turnv1.Message, len(messages))
	for i, m := range messages {
		out[i] = m
		if r := m.GetToolResult(); r != nil && !shown(r.GetTool()) {
			out[i] = proto.CloneOf(m)
			out[i].ToolResult.Tool = Call
		}
		for n, call := range m.GetToolCalls() {
			if shown(call.GetTool()) {
				continue
			}
			if out[i] == m {
				out[i] = proto.CloneOf(m)
			}
			out[i].ToolCalls[n] = wrap(call)
		}
	}
	return out
}

func wrap(call *turnv1.ToolCall) *turnv1.ToolCall {
	arguments := json.RawMessage(call.GetArgumentsJson())
	if !json.Valid(arguments) {
		arguments, _ = json.Marshal(call.GetArgumentsJson()) // a string always encodes
	}
	text, err := json.Marshal(map[string]any{"name": call.GetTool(), "arguments": arguments})
	if err != nil {
		return call
	}
	return &turnv1.ToolCall{CallId: call.GetCallId(), Tool: Call, ArgumentsJson: string(text)}
}

// Query is a model's search.
type Query struct {
	// Text is in words.
	Text string `json:"query"`
	// Limit is the number of tools to find.
	Limit int `json:"limit"`
}

// Read reads the arguments of a search. It returns false if they are not as the tool wants them.
func Read(arguments string) (Query, bool) {
	var q Query
	if json.Unmarshal([]byte(arguments), &q) != nil || q.Text == "" || len(q.Text) > 1000 || q.Limit < 0 {
		return q, false
	}
	if q.Limit == 0 {
		q.Limit = usual
	}
	q.Limit = min(q.Limit, most)
	return q, true
}

// Found is the text of a result for the model. Tools that do not fit into it are left out, but for the first.
func Found(tools []*inferencev1.ToolDefinition) string {
	if len(tools) == 0 {
		return "No tool fits. Try other words, or fewer."
	}
	type found struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
	}
	var list bytes.Buffer
	for i, t := range tools {
		schema := json.RawMessage(t.GetInputSchemaJson())
		if !json.Valid(schema) {
			schema = json.RawMessage(`{}`)
		}
		text, err := json.Marshal(found{t.GetName(), t.GetDescription(), schema})
		if err != nil || i > 0 && list.Len()+len(text) > maxText {
			continue
		}
		list.Write(text)
		list.WriteByte('\n')
	}
	return list.String()
}
