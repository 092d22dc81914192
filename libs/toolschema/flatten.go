package toolschema

import (
	"encoding/json"
	"slices"
	"strings"
)

// maxRefs bounds how often a reference leads to another one.
const maxRefs = 16

// flat returns a schema of objects without the keywords that combine schemas: it allows what the given one allows, or more. False means
// that no object fits the schema.
func (f *fitter) flat(v any, refs int) (*object, bool) {
	o, ok := v.(*object)
	if f.budget--; !ok || f.budget < 0 {
		return newObject(), string(write(nil, v)) != "false"
	}
	o = f.deref(o, refs)
	if !admitsObject(o) {
		return nil, false
	}
	base, more := newProperties(o), false
	for _, branch := range o.list("allOf") {
		if b, ok := f.flat(branch, refs+1); ok {
			more = base.join(newProperties(b), "allOf") || more
			base.required = union(base.required, required(b))
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		branches, needed := newProperties(newObject()), []string(nil)
		for i, branch := range o.list(keyword) {
			b, ok := f.flat(branch, refs+1)
			if !ok {
				continue
			}
			branches.join(newProperties(b), "anyOf")
			if i == 0 || needed == nil {
				needed = required(b)
			}
			needed = intersection(needed, required(b))
		}
		more = base.join(branches, "") || more
		base.required = union(base.required, needed)
	}
	for _, keyword := range []string{"then", "else"} {
		if b, ok := f.flat(o.values[keyword], refs+1); ok && o.has(keyword) {
			more = base.join(newProperties(b), "") || more
		}
	}
	return f.merged(o, base, more), true
}

// merged returns a schema with the properties of its branches in place of the branches.
func (f *fitter) merged(o *object, base properties, more bool) *object {
	for _, keyword := range []string{
		"allOf", "anyOf", "oneOf", "not", "enum", "const", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
	} {
		if o.has(keyword) {
			f.note(keyword + " of the whole is not offered, but still checked")
			o.remove(keyword)
		}
	}
	if more {
		o.remove("additionalProperties", "unevaluatedProperties", "patternProperties")
	}
	o.set("type", json.RawMessage(`"object"`))
	o.set("properties", base.all)
	o.remove("required")
	if len(base.required) > 0 {
		list := make([]any, len(base.required))
		for i, name := range base.required {
			list[i] = quoted(name)
		}
		o.set("required", list)
	}
	return o
}

// properties are those that a schema names.
type properties struct {
	all      *object
	required []string
}

func newProperties(o *object) properties {
	all := newObject()
	if named := o.properties(); named != nil {
		all, _ = copyOf(named).(*object)
	}
	return properties{all, required(o)}
}

// join adds the properties of a branch and reports whether some are new. One that both have is combined with a keyword; an empty keyword
// leaves it as it is.
func (p properties) join(with properties, keyword string) bool {
	more := false
	for _, name := range with.all.keys {
		have, theirs := p.all.values[name], with.all.values[name]
		switch {
		case have == nil:
			p.all.set(name, theirs)
			more = true
		case keyword == "" || string(write(nil, have)) == string(write(nil, theirs)):
		default:
			both := []any{have, theirs}
			if o, ok := have.(*object); ok && len(o.keys) == 1 && o.list(keyword) != nil {
				both = append(slices.Clone(o.list(keyword)), theirs)
			}
			combined := newObject()
			combined.set(keyword, both)
			p.all.set(name, combined)
		}
	}
	return more
}

// admitsObject reports whether a schema's type is, or can be, an object.
func admitsObject(o *object) bool {
	if !o.has("type") {
		return true
	}
	if list := o.list("type"); list != nil {
		return slices.ContainsFunc(list, isObject)
	}
	name, ok := o.text("type")
	return name == "object" || !ok || !types[name]
}

func isObject(v any) bool { name, _ := text(v); return name == "object" }

// required returns the names of the properties that a schema requires.
func required(o *object) []string {
	var names []string
	for _, v := range o.list("required") {
		if name, ok := text(v); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func union(a, b []string) []string {
	for _, name := range b {
		if !slices.Contains(a, name) {
			a = append(a, name)
		}
	}
	return a
}

func intersection(a, b []string) []string {
	out := []string{}
	for _, name := range a {
		if slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}

// deref returns a copy of a schema with what its reference leads to.
func (f *fitter) deref(o *object, refs int) *object {
	o, _ = copyOf(o).(*object)
	for ; refs <= maxRefs && o.has("$ref"); refs++ {
		ref, _ := o.text("$ref")
		o.remove("$ref")
		target, ok := f.resolve(ref).(*object)
		if !ok {
			break
		}
		for _, key := range target.keys {
			if !o.has(key) {
				o.set(key, copyOf(target.values[key]))
			}
		}
	}
	o.remove("$ref")
	return o
}

// resolve returns what a reference within the schema leads to, nil for any other reference.
func (f *fitter) resolve(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil
	}
	var at any = f.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		o, ok := at.(*object)
		if !ok {
			return nil
		}
		at = o.values[strings.NewReplacer("~1", "/", "~0", "~", "%24", "$").Replace(part)]
	}
	return at
}
