package vendortest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// maxGoogleDepth is what a message of the API can nest, each schema being in a map or a list.
const maxGoogleDepth = 30

// google refuses what Google's Schema message does.
func google(r *Rules, schema any) string {
	if schema == nil {
		return ""
	}
	o, ok := schema.(map[string]any)
	if !ok || o["type"] != "object" {
		return "parameters: should be of type OBJECT"
	}
	if named, _ := o["properties"].(map[string]any); len(named) == 0 {
		return "parameters.properties: should be non-empty for OBJECT type"
	}
	return r.google(schema, "parameters", 0)
}

// googleFields are the fields of a schema, and the types of their values.
var googleFields = map[string]func(any) bool{
	"type": isText, "format": isText, "title": isText, "description": isText, "pattern": isText, "nullable": isBool,
	"enum": isTexts, "required": isTexts, "properties": isObject, "items": isObject, "anyOf": isList,
	"minimum": isNumber, "maximum": isNumber, "minItems": isCount, "maxItems": isCount, "minLength": isCount, "maxLength": isCount,
	"minProperties": isCount, "maxProperties": isCount,
}

func isText(v any) bool   { _, ok := v.(string); return ok }
func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isObject(v any) bool { _, ok := v.(map[string]any); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }
func isTexts(v any) bool {
	l, ok := v.([]any)
	return ok && !slices.ContainsFunc(l, func(e any) bool { return !isText(e) })
}

func isNumber(v any) bool {
	switch v.(type) {
	case float64, json.Number:
		return true
	}
	return false
}

func isCount(v any) bool {
	if n, ok := v.(json.Number); ok {
		_, err := n.Int64()
		return err == nil
	}
	n, ok := v.(float64)
	return ok && n >= 0 && n == float64(int64(n))
}

func (r *Rules) google(schema any, path string, depth int) string {
	o, ok := schema.(map[string]any)
	if !ok {
		return path + ": Proto field is not an object"
	}
	if depth > maxGoogleDepth {
		return path + ": message too deep"
	}
	for key, v := range o {
		check := googleFields[key]
		if check == nil {
			return fmt.Sprintf("Unknown name %q at '%s': Cannot find field", key, path)
		}
		if !check(v) {
			return fmt.Sprintf("Invalid value at '%s.%s'", path, key)
		}
	}
	if branches, _ := o["anyOf"].([]any); branches != nil {
		if len(o) > 1 {
			return path + ": when using any_of, it must be the only field set"
		}
		for i, b := range branches {
			if why := r.google(b, fmt.Sprintf("%s.any_of[%d]", path, i), depth+1); why != "" {
				return why
			}
		}
		return ""
	}
	return r.googleType(o, path, depth)
}

// googleType checks what goes with the type.
func (r *Rules) googleType(o map[string]any, path string, depth int) string {
	name, _ := o["type"].(string)
	formats, ok := map[string][]string{
		"string": {"date-time", "enum"}, "integer": {"int32", "int64"}, "number": {"float", "double"}, "boolean": {}, "array": {}, "object": {},
	}[name]
	if !ok {
		return fmt.Sprintf("Invalid value at '%s.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), %q", path, name)
	}
	if format, has := o["format"].(string); has && !slices.Contains(formats, format) {
		return path + ".format: only 'enum' and 'date-time' are supported for STRING type"
	}
	for key, owner := range map[string]string{"properties": "object", "required": "object", "items": "array", "enum": "string"} {
		if _, has := o[key]; has && name != owner {
			return fmt.Sprintf("%s.%s: only allowed for %s type", path, key, owner)
		}
	}
	if enum, has := o["enum"].([]any); has && (len(enum) == 0 || slices.Contains(enum, any(""))) {
		return path + ".enum[0]: cannot be empty"
	}
	if name == "array" {
		items, _ := o["items"].(map[string]any)
		if len(items) == 0 {
			return path + ".items: missing field"
		}
		return r.google(items, path+".items", depth+1)
	}
	named, _ := o["properties"].(map[string]any)
	needed, _ := o["required"].([]any)
	for i, n := range needed {
		if _, has := named[n.(string)]; !has {
			return fmt.Sprintf("%s.required[%d]: property is not defined", path, i)
		}
	}
	for key, v := range named {
		if !r.key.MatchString(key) {
			return fmt.Sprintf("%s.properties[%s]: must start with a letter or an underscore", path, key)
		}
		if why := r.google(v, path+".properties["+key+"]", depth+1); why != "" {
			return why
		}
	}
	return ""
}
