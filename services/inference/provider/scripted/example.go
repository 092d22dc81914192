package scripted

import "strings"

// example makes values of a schema.
type example struct{ root map[string]any }

const (
	maxExample = 16 // depth
	maxItems   = 8  // of a list
)

// value returns the simplest value of a schema.
func (e example) value(v any, depth int) any {
	s, _ := v.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s = e.follow(ref)
	}
	if depth > maxExample {
		return nil
	}
	for _, key := range []string{"const", "default"} {
		if value, ok := s[key]; ok {
			return value
		}
	}
	for _, key := range []string{"enum", "examples"} {
		if values, ok := s[key].([]any); ok && len(values) > 0 {
			return values[0]
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if parts, ok := s[key].([]any); ok && len(parts) > 0 && s["type"] == nil {
			return e.value(parts[0], depth+1)
		}
	}
	switch kindOf(s) {
	case "object":
		return e.object(s, depth)
	case "array":
		n, _ := s["minItems"].(float64)
		out := []any{}
		for range min(int(n), maxItems) {
			out = append(out, e.value(s["items"], depth+1))
		}
		return out
	case "integer", "number":
		return number(s)
	case "boolean":
		return true
	case "null":
		return nil
	default:
		return text(s)
	}
}

func kindOf(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	if s["properties"] != nil {
		return "object"
	}
	return ""
}

func (e example) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range required {
		if key, ok := name.(string); ok {
			out[key] = e.value(properties[key], depth+1)
		}
	}
	return out
}

// follow returns what a reference inside the schema stands for.
func (e example) follow(ref string) map[string]any {
	var at any = e.root
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		o, _ := at.(map[string]any)
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	out, _ := at.(map[string]any)
	return out
}

// number returns the smallest number that is at least 0, if the schema allows it.
func number(s map[string]any) float64 {
	n := 0.0
	if least, ok := s["minimum"].(float64); ok {
		n = max(n, least)
	}
	if least, ok := s["exclusiveMinimum"].(float64); ok {
		n = max(n, least+1)
	}
	if most, ok := s["maximum"].(float64); ok {
		n = min(n, most)
	}
	return n
}

// text returns a text of the format and the length of a schema.
func text(s map[string]any) string {
	made := map[any]string{
		"date-time": "2026-01-01T00:00:00Z", "date": "2026-01-01", "time": "00:00:00Z", "email": "someone@example.com",
		"uri": "https://example.com/", "uuid": "00000000-0000-4000-8000-000000000000",
	}[s["format"]]
	if made == "" {
		made = "text"
	}
	if least, ok := s["minLength"].(float64); ok && int(least) > len(made) {
		made += strings.Repeat("x", min(int(least), maxQuote)-len(made))
	}
	if most, ok := s["maxLength"].(float64); ok && int(most) < len(made) {
		made = made[:max(int(most), 0)]
	}
	return made
}
