package result

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/windlass-dev/windlass/libs/canon"
)

// Raw is the result of a tool call as its server sent it.
type Raw struct {
	bytes, values int

	content    []json.RawMessage
	structured json.RawMessage
	isError    bool
}

// Parse reads a raw result. The error says why it is not the result of a tool call. Without content it is one that says nothing.
func Parse(raw json.RawMessage) (Raw, error) {
	var d struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if text := bytes.TrimSpace(raw); len(text) == 0 || text[0] != '{' || json.Unmarshal(raw, &d) != nil {
		return Raw{}, errors.New("the server answered something that is not the result of a tool: " + Excerpt(raw))
	}
	values, _ := canon.Measure(raw)
	return Raw{bytes: len(raw), values: values, content: d.Content, structured: d.Structured, isError: d.IsError}, nil
}
