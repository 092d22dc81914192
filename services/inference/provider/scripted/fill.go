package scripted

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// schema is the part of a tool's input schema used here.
type schema struct {
	Properties map[string]property `json:"properties"`
	Required   []string            `json:"required"`
}

type property struct {
	Type        kind                 `json:"type"`
	Enum        []any                `json:"enum"`
	Description string               `json:"description"`
	Format      string               `json:"format"`
	Items       *struct{ Type kind } `json:"items"`
}

// kind is a schema's type; of several types the first that is not null.
type kind string

// UnmarshalJSON reads a name or a list of names; anything else is no type.
func (k *kind) UnmarshalJSON(raw []byte) error {
	var one string
	var many []string
	if json.Unmarshal(raw, &one) == nil {
		*k = kind(one)
	} else if json.Unmarshal(raw, &many) == nil {
		for _, name := range many {
			if name != "null" {
				*k = kind(name)
				break
			}
		}
	}
	return nil
}

// parseSchema parses a schema leniently; an unreadable schema has no arguments.
func parseSchema(written string) schema {
	var s schema
	if json.Unmarshal([]byte(written), &s) != nil {
		return schema{}
	}
	return s
}

// text returns the names and descriptions of the arguments.
func (s schema) text() string {
	var b strings.Builder
	for name, p := range s.Properties {
		b.WriteString(name + " " + p.Description + " ")
	}
	return b.String()
}

// expression returns the name of the argument that takes arithmetic, "" if there is none.
func (s schema) expression() string {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if p.Type == "string" && (name == "expression" || name == "formula" || strings.Contains(strings.ToLower(p.Description), "arithmetic")) {
			return name
		}
	}
	return ""
}

// fill finds arguments in a message: the required ones, and the optional ones that the message names ("limit: 5"). It returns the required
// ones that it did not find.
func (s schema) fill(message string) (arguments map[string]any, missing []string) {
	arguments = map[string]any{}
	f := newFinder(message)
	for _, name := range s.Required {
		value := f.value(name, s.Properties[name])
		if value == nil {
			missing = append(missing, name)
			continue
		}
		arguments[name] = value
	}
	for name, p := range s.Properties {
		if slices.Contains(s.Required, name) {
			continue
		}
		if text := f.labelled(name); text != "" {
			if value := convert(text, p); value != nil {
				arguments[name] = value
			}
		}
	}
	return arguments, missing
}

var numeral = regexp.MustCompile(`-?\d+(?:\.\d+)?`)

// convert converts text to the property's type, nil if it cannot.
func convert(text string, p property) any {
	if len(p.Enum) > 0 {
		for _, allowed := range p.Enum {
			if word, ok := allowed.(string); ok && strings.EqualFold(word, text) {
				return word
			}
		}
		return nil
	}
	switch p.Type {
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		return nil
	case "number":
		if numeral.FindString(text) == text && text != "" {
			return json.Number(text)
		}
		return nil
	case "boolean":
		switch strings.ToLower(text) {
		case "true", "yes", "on":
			return true
		case "false", "no", "off":
			return false
		}
		return nil
	case "array":
		return list(text, p)
	case "object", "null":
		return nil
	default:
		return text
	}
}

// list splits at commas; only lists of strings are supported.
func list(text string, p property) any {
	if p.Items != nil && p.Items.Type != "string" && p.Items.Type != "" {
		return nil
	}
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	if items == nil {
		return nil
	}
	return items
}
