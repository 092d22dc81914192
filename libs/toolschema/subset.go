package toolschema

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// anything returns a schema that allows all values, as far as the form has one.
func (f *fitter) anything() any {
	if !f.form.Subset {
		return newObject()
	}
	var branches []any
	for _, name := range []string{"string", "number", "boolean", "object"} {
		o := newObject()
		o.set("type", quoted(name))
		branches = append(branches, o)
	}
	o := newObject()
	o.set("anyOf", branches)
	return o
}

// key is what the name of a property may be.
var key = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// limitKeys leaves out properties whose names an API refuses, and says in words that there are such.
func (f *fitter) limitKeys(o *object) {
	named := o.properties()
	if named == nil {
		return
	}
	var odd []string
	for _, name := range named.keys {
		if !key.MatchString(name) {
			odd = append(odd, name)
		}
	}
	if len(odd) == 0 {
		return
	}
	f.note("properties with names such as " + string(quoted(odd[0])) + " are offered in words only")
	named.remove(odd...)
	needed := slices.DeleteFunc(slices.Clone(o.list("required")), func(v any) bool { name, _ := text(v); return slices.Contains(odd, name) })
	if o.has("required") {
		o.set("required", needed)
	}
	o.remove("additionalProperties", "unevaluatedProperties")
	description, _ := o.text("description")
	o.set("description", quoted(strings.TrimSpace(description+" Further properties: "+string(must(json.Marshal(odd))))))
}

func must(raw []byte, err error) []byte {
	if err != nil {
		return nil // strings always encode
	}
	return raw
}

// inSubset are the keywords of the subset.
var inSubset = []string{
	"type", "format", "title", "description", "nullable", "enum", "items", "properties", "required", "minimum", "maximum", "minItems",
	"maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "pattern", "anyOf",
}

// maxInline bounds how deep references are replaced with what they lead to: schemas may refer to themselves.
const maxInline = 12

// subset returns a schema below the top as the subset has it.
func (f *fitter) subset(o *object, depth int) any {
	if f.budget--; depth > maxInline || f.budget < 0 {
		return f.anything()
	}
	o = f.deref(o, 0)
	if o.has("allOf") {
		if joined, ok := f.flat(o, 0); ok {
			o = joined
		}
	}
	if list := o.list("oneOf"); list != nil && !o.has("anyOf") {
		o.set("anyOf", list)
	}
	if c, ok := o.values["const"]; ok && !o.has("enum") {
		o.set("enum", []any{c})
	}
	f.oneType(o)
	if branches := o.list("anyOf"); len(branches) > 0 {
		return f.alternatives(o, branches, depth)
	}
	out := newObject()
	for _, key := range o.keys {
		if test := checkOf(key); test != nil && slices.Contains(inSubset, key) {
			if kept, ok := test(f, o.values[key], depth); ok {
				out.set(key, kept)
			}
		} else if key == "nullable" {
			out.set(key, o.values[key])
		}
	}
	return f.complete(out)
}

// alternatives is a schema with nothing but alternatives; "null" among them becomes nullable.
func (f *fitter) alternatives(o *object, branches []any, depth int) any {
	var kept []any
	null := false
	for _, b := range branches {
		if inner, ok := b.(*object); ok && admits(inner, "null") && len(inner.list("type")) < 2 {
			null = true
			continue
		}
		kept = append(kept, f.schema(b, depth+1))
	}
	if len(kept) == 0 {
		return f.anything()
	}
	out := newObject()
	if len(kept) > 1 {
		out.set("anyOf", kept)
		return out
	}
	if only, ok := kept[0].(*object); ok {
		out = only
	}
	if d, ok := o.text("description"); ok && !out.has("description") && !out.has("anyOf") {
		out.set("description", quoted(d))
	}
	if null && !out.has("anyOf") {
		out.set("nullable", json.RawMessage("true"))
	}
	return out
}

// oneType gives a schema with several types one, or alternatives.
func (f *fitter) oneType(o *object) {
	list := o.list("type")
	if list == nil {
		return
	}
	o.remove("type")
	var alternatives []any
	for _, v := range list {
		name, _ := text(v)
		if name == "null" {
			o.set("nullable", json.RawMessage("true"))
			continue
		}
		alternatives = append(alternatives, v)
	}
	if len(alternatives) == 1 {
		o.set("type", alternatives[0])
		return
	}
	var branches []any
	for _, v := range alternatives {
		b := newObject()
		b.set("type", v)
		if name, _ := text(v); name == "array" && o.has("items") {
			b.set("items", o.values["items"])
		}
		branches = append(branches, b)
	}
	if len(branches) > 0 {
		o.set("anyOf", branches)
	}
}

// complete gives a schema of the subset a type and what belongs to it.
func (f *fitter) complete(o *object) any {
	if !o.has("type") {
		switch {
		case o.has("properties"):
			o.set("type", quoted("object"))
		case o.has("items"):
			o.set("type", quoted("array"))
		case o.has("enum"), o.has("pattern"), o.has("minLength"), o.has("maxLength"):
			o.set("type", quoted("string"))
		case o.has("minimum"), o.has("maximum"):
			o.set("type", quoted("number"))
		default:
			return f.anything()
		}
	}
	if admits(o, "array") && (!o.has("items") || len(must(write(nil, o.values["items"]), nil)) == 2) {
		o.set("items", f.anything())
	}
	f.narrow(o)
	return o
}

// narrow removes from a schema with a type what does not go with it.
func (f *fitter) narrow(o *object) {
	for _, key := range slices.Clone(o.keys) {
		if !slices.Contains(inSubset, key) {
			o.remove(key)
		}
	}
	if list := o.list("enum"); list != nil {
		odd := slices.ContainsFunc(list, func(v any) bool { s, ok := text(v); return !ok || s == "" })
		if odd || !admits(o, "string") {
			o.remove("enum")
		}
	}
	if format, ok := o.text("format"); ok && admits(o, "string") && format != "date-time" && format != "enum" {
		o.remove("format")
	}
	named := o.properties()
	if named != nil && len(named.keys) == 0 {
		o.remove("required")
	}
	if list := o.list("required"); list != nil {
		kept := slices.DeleteFunc(slices.Clone(list), func(v any) bool { name, _ := text(v); return named == nil || !named.has(name) })
		if o.set("required", kept); len(kept) == 0 {
			o.remove("required")
		}
	}
}
