package vendortest

import (
	"bytes"
	"encoding/json"
)

// What Ollama decodes: another type is refused, another field is lost.
type (
	ollamaParameters struct {
		Type       string                    `json:"type"`
		Defs       any                       `json:"$defs,omitempty"`
		Items      any                       `json:"items,omitempty"`
		Required   []string                  `json:"required,omitempty"`
		Properties map[string]ollamaProperty `json:"properties"`
	}
	ollamaProperty struct {
		AnyOf       []ollamaProperty          `json:"anyOf,omitempty"`
		Type        ollamaType                `json:"type,omitempty"`
		Items       any                       `json:"items,omitempty"`
		Description string                    `json:"description,omitempty"`
		Enum        []any                     `json:"enum,omitempty"`
		Properties  map[string]ollamaProperty `json:"properties,omitempty"`
		Required    []string                  `json:"required,omitempty"`
	}
	ollamaType []string
)

// UnmarshalJSON reads a name or a list of names.
func (t *ollamaType) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		*t = []string{""}
		return json.Unmarshal(raw, &(*t)[0])
	}
	return json.Unmarshal(raw, (*[]string)(t))
}

// ollama refuses what Ollama does not decode, and what it would lose.
func ollama(_ *Rules, schema any) string {
	raw, err := json.Marshal(schema)
	if err != nil {
		return err.Error()
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var p ollamaParameters
	switch err := dec.Decode(&p); {
	case err != nil:
		return err.Error()
	case p.Type != "object" || p.Properties == nil:
		return "json: cannot unmarshal parameters"
	}
	if o, _ := schema.(map[string]any); refers(o) {
		return "a reference is lost"
	}
	return ""
}
