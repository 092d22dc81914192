package openapi

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// schema converts a schema and everything in it. name is the enclosing definition, "" for a nested schema.
func (b *builder) schema(name string, in object) object {
	if target, ok := in["$ref"].(string); ok {
		return ref(shortName(strings.TrimPrefix(target, "#/definitions/")))
	}
	out := maps.Clone(in)
	if values := strs(in["enum"]); len(values) > 0 {
		return enum(name, values, out)
	}
	if props, ok := in["properties"].(object); ok {
		converted := object{}
		for key, p := range props {
			converted[key] = b.property(p)
		}
		out["properties"] = converted
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := in[key].(object); ok {
			out[key] = b.schema("", inner)
		}
	}
	return out
}

// property converts a field's schema. An unset message or time is null in JSON.
func (b *builder) property(v any) object {
	in, ok := v.(object)
	if !ok {
		return object{}
	}
	if all, ok := in["allOf"].([]any); ok && len(all) == 1 {
		return b.reference(in, all[0])
	}
	if _, ok := in["$ref"]; ok {
		return b.reference(object{}, in)
	}
	out := b.schema("", in)
	_, isMap := in["additionalProperties"]
	if in["format"] == "date-time" || in["type"] == "object" && !isMap {
		out["type"] = []string{fmt.Sprint(in["type"]), "null"}
	}
	return out
}

func (b *builder) reference(in object, target any) object {
	t, _ := target.(object)
	out := maps.Clone(in)
	delete(out, "allOf")
	out["anyOf"] = []object{b.schema("", t), {"type": "null"}}
	return out
}

// enum lists values as they are served: react for STRATEGY_REACT.
func enum(name string, values []string, out object) object {
	prefix := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "${1}_${2}")
	prefix = strings.ToUpper(prefix) + "_"
	served := []string{}
	for _, v := range values {
		served = append(served, strings.ToLower(strings.TrimPrefix(v, prefix)))
	}
	out["enum"] = served
	if d, ok := out["description"].(string); ok {
		out["description"] = regexp.MustCompile(prefix+`[A-Z_]+`).ReplaceAllStringFunc(d, func(s string) string {
			return strings.ToLower(strings.TrimPrefix(s, prefix))
		})
	}
	return out
}
