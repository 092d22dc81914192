package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Object returns the schema of an object in the form that strict readers take: with the type "object", "properties" that are schemas in the
// form of objects, and "required" that are names. Where that is missing and the meaning is plain it is mended; otherwise the error says
// what is wrong. The text of a schema without such faults is returned as it is.
func Object(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 || slices.Contains([]string{"null", "true", "[]"}, string(text)) { // [] is what PHP makes of an empty object
		return []byte(`{"type":"object"}`), nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		return nil, errors.New("it is not an object")
	}
	o := object{members: members}
	for _, mend := range []func() error{o.kind, o.properties, o.required, o.dialect} {
		if err := mend(); err != nil {
			return nil, err
		}
	}
	if !o.mended {
		return text, nil
	}
	return json.Marshal(o.members)
}

// IsObject reports whether a schema says that it is one of an object, and of nothing else.
func IsObject(text []byte) bool {
	var d struct {
		Type json.RawMessage `json:"type"`
	}
	return json.Unmarshal(text, &d) == nil && string(d.Type) == `"object"`
}

// object mends a schema.
type object struct {
	members map[string]json.RawMessage
	mended  bool
}

func (o *object) set(keyword, value string) {
	o.members[keyword], o.mended = json.RawMessage(value), true
}

func (o *object) remove(keyword string) {
	delete(o.members, keyword)
	o.mended = true
}

// kind sets the type. What else than an object the schema allows is left out: readers of this form have nothing else.
func (o *object) kind() error {
	raw, ok := o.members["type"]
	var list []string
	switch {
	case string(raw) == `"object"`:
	case !ok, string(raw) == "null", string(raw) == `""`:
		o.set("type", `"object"`)
	case json.Unmarshal(raw, &list) == nil && slices.Contains(list, "object"):
		o.set("type", `"object"`)
	default:
		return fmt.Errorf(`its "type" is %.50s instead of "object"`, raw)
	}
	return nil
}

func (o *object) properties() error {
	raw, ok := o.members["properties"]
	if !ok {
		return nil
	}
	if string(raw) == "null" || len(bytes.Trim(raw, "[] \t\r\n")) == 0 {
		o.set("properties", `{}`)
		return nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return errors.New(`its "properties" are not an object`)
	}
	changed := false
	for name, p := range all {
		switch text := string(p); {
		case text[0] == '{':
		case text == "true", text == "null", text == "[]":
			all[name], changed = json.RawMessage(`{}`), true
		case text == "false":
			all[name], changed = json.RawMessage(`{"not":{}}`), true
		default:
			return fmt.Errorf("its property %.50q is not a schema", name)
		}
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(all)
	o.set("properties", string(text))
	return err
}

// required keeps the names. A boolean, which earlier drafts had at the property itself, means nothing here.
func (o *object) required() error {
	raw, ok := o.members["required"]
	if !ok {
		return nil
	}
	var one string
	var list, names []any
	if json.Unmarshal(raw, &one) == nil && one != "" {
		list = []any{one}
	} else if json.Unmarshal(raw, &list) == nil && list != nil {
		names = list
	}
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { _, isText := v.(string); return !isText })
	switch {
	case names != nil && len(list) == len(names):
		return nil
	case len(list) == 0:
		o.remove("required")
		return nil
	}
	text, err := json.Marshal(list)
	o.set("required", string(text))
	return err
}

func (o *object) dialect() error {
	if raw, ok := o.members["$schema"]; ok && raw[0] != '"' {
		o.remove("$schema")
	}
	return nil
}
