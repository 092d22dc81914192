package result

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Check reports why a raw result is not the result of a tool call; nil if it is. Without content it is one that says nothing.
func Check(raw json.RawMessage) error {
	if text := bytes.TrimSpace(raw); len(text) == 0 || text[0] != '{' {
		return errors.New("the server answered something that is not the result of a tool: " + Excerpt(raw))
	}
	var d struct {
		Content []json.RawMessage `json:"content"`
		IsError *bool             `json:"isError"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return errors.New("the server answered something that is not the result of a tool: " + Excerpt(raw))
	}
	return nil
}
