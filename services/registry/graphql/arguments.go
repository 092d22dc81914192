package graphql

import (
	"github.com/windlass-dev/windlass/libs/truncate"
)

// maxDescription limits descriptions inside a schema, in bytes.
const maxDescription = 500

// arguments is the JSON Schema of a field's arguments.
func (s *schema) arguments(args []inputValue) map[string]any {
	c := converter{schema: s, defs: map[string]any{}}
	root := c.object(args)
	if len(c.defs) > 0 {
		root["$defs"] = c.defs
	}
	return root
}

type converter struct {
	*schema
	defs map[string]any
}

func (c converter) object(values []inputValue) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, v := range values {
		if !isName(v.Name) {
			continue
		}
		p := c.value(&v.Type)
		if v.Description != "" {
			p["description"] = truncate.Bytes(v.Description, maxDescription)
		}
		properties[v.Name] = p
		if v.required() {
			required = append(required, v.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// value is the schema of a type. Null is not offered: an absent value says the same.
func (c converter) value(r *typeRef) map[string]any {
	switch {
	case r == nil:
		return map[string]any{}
	case r.Kind == nonNull:
		return c.value(r.OfType)
	case r.Kind == list:
		return map[string]any{"type": "array", "items": c.value(r.OfType)}
	}
	t := c.types[r.Name]
	switch {
	case t == nil:
		return map[string]any{}
	case t.Kind == enum:
		values := []any{}
		for _, v := range t.EnumValues {
			values = append(values, v.Name)
		}
		return map[string]any{"type": "string", "enum": values}
	case t.Kind == input:
		if c.defs[t.Name] == nil {
			c.defs[t.Name] = true // it may contain itself
			c.defs[t.Name] = c.object(t.InputFields)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name}
	}
	switch t.Name {
	case "Int":
		return map[string]any{"type": "integer", "minimum": -1 << 31, "maximum": 1<<31 - 1}
	case "Float":
		return map[string]any{"type": "number"}
	case "Boolean":
		return map[string]any{"type": "boolean"}
	case "String", "ID":
		return map[string]any{"type": "string"}
	default: // a scalar of the API's own: any JSON
		return map[string]any{"title": t.Name}
	}
}
