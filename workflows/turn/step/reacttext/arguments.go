package reacttext

import (
	"encoding/json"
	"strings"
)

// Arguments makes JSON of an action input. What is no object becomes the tool's only argument, where the schema has just one that is
// needed. What looks like an object but cannot be read is given as it is: the mesh refuses it, and the model gets the reason.
func Arguments(in, schema string) string {
	in = bare(in)
	switch strings.ToLower(strings.Trim(in, "()[]\"'")) {
	case "", "none", "null", "n/a", "{}":
		return "{}"
	}
	if strings.HasPrefix(in, "{") {
		return object(in)
	}
	var quoted string
	if in[0] == '"' && json.Unmarshal([]byte(in), &quoted) == nil {
		if q := strings.TrimSpace(quoted); strings.HasPrefix(q, "{") && json.Valid([]byte(q)) {
			return q
		}
		return single(quoted, "", schema)
	}
	if len(in) > 1 && in[0] == '\'' && in[len(in)-1] == '\'' {
		return single(in[1:len(in)-1], "", schema)
	}
	if key, value, ok := strings.Cut(in, "="); ok && !strings.ContainsAny(strings.TrimSpace(key), " \n") &&
		has(schema, strings.TrimSpace(key)) {
		return pair(strings.TrimSpace(key), strings.Trim(strings.TrimSpace(value), "\"'"), schema)
	}
	if json.Valid([]byte(in)) {
		return single(in, in, schema)
	}
	return single(in, "", schema)
}

// object takes the first JSON object of a text. Objects in the manner of Python are understood where that is safe.
func object(text string) string {
	for _, candidate := range []string{text, pythonic(text)} {
		var raw json.RawMessage
		if json.NewDecoder(strings.NewReader(candidate)).Decode(&raw) == nil {
			return string(raw)
		}
	}
	return text
}

// pythonic turns single quotes, True, False, None and a last comma into JSON. A text that has double quotes keeps its quotes.
func pythonic(text string) string {
	if !strings.Contains(text, `"`) {
		text = strings.ReplaceAll(text, "'", `"`)
	}
	return strings.NewReplacer(": True", ": true", ": False", ": false", ": None", ": null", ",}", "}", ", }", "}", ",\n}", "}").Replace(text)
}

// property is what the schema says of one argument.
type property struct {
	Type any `json:"type"`
}

type shape struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

func shapeOf(schema string) shape {
	var s shape
	if json.Unmarshal([]byte(schema), &s) != nil {
		return shape{}
	}
	return s
}

func has(schema, key string) bool {
	_, ok := shapeOf(schema).Properties[key]
	return ok
}

// single assigns a value to the only argument that the tool needs or has. raw is the value as JSON where it is some.
func single(text, raw, schema string) string {
	s := shapeOf(schema)
	key := "input"
	switch {
	case len(s.Required) == 1:
		key = s.Required[0]
	case len(s.Properties) == 1:
		for only := range s.Properties {
			key = only
		}
	}
	if raw != "" && s.Properties[key].Type != "string" {
		return encode(key, json.RawMessage(raw))
	}
	return pair(key, text, schema)
}

// pair assigns a value to an argument, as what the schema wants it to be where the text can be read as that.
func pair(key, text, schema string) string {
	if kind := shapeOf(schema).Properties[key].Type; kind != nil && kind != "string" && json.Valid([]byte(text)) {
		return encode(key, json.RawMessage(text))
	}
	return encode(key, text)
}

func encode(key string, value any) string {
	out, err := json.Marshal(map[string]any{key: value})
	if err != nil { // a string or valid JSON always can be written
		return "{}"
	}
	return string(out)
}
