package httpcall

import (
	"encoding/json"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// graphQLAnswer is the answer to one query or mutation (GraphQL, October 2021, section 7).
type graphQLAnswer struct {
	field  string
	data   map[string]json.RawMessage
	errors json.RawMessage
}

// read returns the answer of a GraphQL API, whatever its status; nil if the body is none.
func (t *Template) read(body []byte) *graphQLAnswer {
	if t.GraphQL == "" {
		return nil
	}
	var a struct {
		Data   map[string]json.RawMessage `json:"data"`
		Errors json.RawMessage            `json:"errors"`
	}
	if err := json.Unmarshal(body, &a); err != nil || a.Data == nil && len(a.Errors) == 0 {
		return nil
	}
	return &graphQLAnswer{field: t.GraphQL, data: a.Data, errors: a.Errors}
}

// result is the field's value. Errors are shown with what is there of it; without a value they are an error of the tool.
func (a *graphQLAnswer) result(hide func(string) string) *turnv1.ToolResult {
	value := a.data[a.field]
	missing := len(value) == 0 || string(value) == "null"
	failed := len(a.errors) > 0 && string(a.errors) != "null" && string(a.errors) != "[]"
	out := &turnv1.ToolResult{IsError: failed && missing}
	if !missing || !failed {
		shown := hide(strings.ToValidUTF8(string(value), "\uFFFD"))
		if shown == "" {
			shown = "null"
		}
		out.Content = append(out.Content, text(shown))
		out.StructuredContent = Structured([]byte(shown))
	}
	if failed {
		out.Content = append(out.Content, text("The API answered with errors:\n"+hide(strings.ToValidUTF8(string(a.errors), "\uFFFD"))))
	}
	return out
}
