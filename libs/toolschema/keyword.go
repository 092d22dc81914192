package toolschema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// types are the names of JSON Schema.
var types = map[string]bool{
	"object": true, "array": true, "string": true, "number": true, "integer": true, "boolean": true, "null": true,
}

// check returns what is offered of the value of a keyword; false leaves the keyword out, which allows more.
type check func(f *fitter, v any, depth int) (any, bool)

// checkOf returns the check of a keyword, nil for one that is offered as it is.
func checkOf(keyword string) check {
	switch keyword {
	case "type":
		return typeNames
	case "title", "description", "format", "$ref", "contentEncoding", "contentMediaType":
		return anyText
	case "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$recursiveRef", "$vocabulary", "additionalItems",
		"unevaluatedProperties", "unevaluatedItems":
		return nothing
	case "pattern":
		return pattern
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return count
	case "uniqueItems", "deprecated", "readOnly", "writeOnly", "nullable":
		return truth
	case "required":
		return names
	case "enum":
		return values
	case "examples":
		return anyList
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return schemasByName
	case "anyOf", "oneOf", "allOf", "prefixItems":
		return schemaList
	case "items":
		return items
	case "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else",
		"contentSchema":
		return oneSchema
	}
	return nil
}

// admits reports whether a schema names a type.
func admits(o *object, name string) bool {
	if one, ok := o.text("type"); ok {
		return one == name
	}
	return slices.ContainsFunc(o.list("type"), func(v any) bool { s, _ := text(v); return s == name })
}

func nothing(*fitter, any, int) (any, bool) { return nil, false }

func anyText(_ *fitter, v any, _ int) (any, bool) { _, ok := text(v); return v, ok }

func anyList(_ *fitter, v any, _ int) (any, bool) { _, ok := v.([]any); return v, ok }

func truth(_ *fitter, v any, _ int) (any, bool) {
	raw := string(write(nil, v))
	return v, raw == "true" || raw == "false"
}

func number(_ *fitter, v any, _ int) (any, bool) {
	raw, ok := v.(json.RawMessage)
	if !ok {
		return nil, false
	}
	_, err := strconv.ParseFloat(string(raw), 64)
	return v, err == nil
}

func positive(f *fitter, v any, depth int) (any, bool) {
	_, ok := number(f, v, depth)
	return v, ok && write(nil, v)[0] != '-' && strings.Trim(string(write(nil, v)), "0.") != ""
}

func count(_ *fitter, v any, _ int) (any, bool) {
	_, err := strconv.ParseUint(string(write(nil, v)), 10, 63)
	return v, err == nil
}

func typeNames(_ *fitter, v any, _ int) (any, bool) {
	if name, ok := text(v); ok {
		return v, types[name]
	}
	list, _ := v.([]any)
	var kept []any
	var seen []string
	for _, e := range list {
		if name, _ := text(e); types[name] && !slices.Contains(seen, name) {
			kept, seen = append(kept, e), append(seen, name)
		}
	}
	return kept, len(kept) > 0 && len(kept) == len(list) // one unknown type may be any value
}

// escapes are those that only some kinds of regular expression know.
var escapes = regexp.MustCompile(`\\[pPAzZhHGKRXQE]|\(\?[>#|(]|[*+?}]\+`)

// pattern leaves out expressions that the usual kinds do not share.
func pattern(_ *fitter, v any, _ int) (any, bool) {
	expression, ok := text(v)
	if !ok || escapes.MatchString(expression) {
		return nil, false
	}
	_, err := regexp.Compile(expression)
	looks := strings.Contains(expression, "(?=") || strings.Contains(expression, "(?!")
	return v, err == nil || looks
}

func names(_ *fitter, v any, _ int) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	kept, seen := []any{}, map[string]bool{}
	for _, e := range list {
		if name, ok := text(e); ok && !seen[name] {
			kept, seen[name] = append(kept, e), true
		}
	}
	return kept, true
}

func values(_ *fitter, v any, _ int) (any, bool) {
	list, _ := v.([]any)
	return v, len(list) > 0
}

func oneSchema(f *fitter, v any, depth int) (any, bool) {
	if _, ok := truth(f, v, depth); ok {
		return v, true
	}
	_, ok := v.(*object)
	if !ok {
		return nil, false
	}
	return f.schema(v, depth+1), true
}

func schemasByName(f *fitter, v any, depth int) (any, bool) {
	o, ok := v.(*object)
	if !ok {
		return nil, false
	}
	out := newObject()
	for _, key := range o.keys {
		if f.budget < 0 {
			break
		}
		out.set(key, f.schema(o.values[key], depth+1))
	}
	return out, true
}

func schemaList(f *fitter, v any, depth int) (any, bool) {
	list, _ := v.([]any)
	if len(list) == 0 {
		return nil, false
	}
	out := make([]any, len(list))
	for i, e := range list {
		if out[i] = f.schema(e, depth+1); string(write(nil, e)) == "false" && f.form.Keywords == nil {
			out[i] = e
		}
	}
	return out, true
}

// items of a list of schemas are a tuple of older drafts.
func items(f *fitter, v any, depth int) (any, bool) {
	if _, ok := v.(*object); ok {
		return f.schema(v, depth+1), true
	}
	return f.anything(), true
}
