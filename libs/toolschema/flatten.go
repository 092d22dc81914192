package toolschema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// maxRefs bounds how often a reference leads to another one.
const maxRefs = 16

// maxJoined bounds the schemas that are joined into one.
const maxJoined = 500

// join is flat with a budget of its own.
func (f *fitter) join(o *object) (*object, bool) {
	f.joins = maxJoined
	return f.flat(o, 0)
}

// flat returns a schema of objects without the keywords that combine schemas: it allows what the given one allows, or more. False means
// that no object fits the schema.
func (f *fitter) flat(v any, refs int) (*object, bool) {
	o, ok := v.(*object)
	if f.joins--; !ok || f.joins < 0 {
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
			o.adopt(b)
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

// adopt takes over from a branch what is not merged otherwise.
func (o *object) adopt(branch *object) {
	o.lost = union(o.lost, branch.lost)
	for _, key := range []string{"description", "title", "additionalProperties"} {
		if branch.has(key) && !o.has(key) {
			o.set(key, branch.values[key])
		}
	}
}

// merged returns a schema with the properties of its branches in place of the branches.
func (f *fitter) merged(o *object, base properties, more bool) *object {
	for _, keyword := range combining {
		if !o.has(keyword) {
			continue
		}
		f.note(keyword + " of the whole is not offered, but still checked")
		if keyword != "allOf" {
			o.lose(keyword, o.values[keyword])
		}
		o.remove(keyword)
	}
	if more {
		o.remove("additionalProperties", "patternProperties")
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
		all = named.clone()
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
	o = o.clone()
	for ; refs <= maxRefs; refs++ {
		ref, ok := refOf(o)
		if !ok {
			break
		}
		o.remove("$ref", "$dynamicRef")
		target, ok := f.resolve(ref).(*object)
		if !ok {
			o.lose("$ref", quoted(ref))
			break
		}
		o.fill(target)
	}
	o.remove("$ref", "$dynamicRef")
	return o
}

// refOf returns the reference of a schema.
func refOf(o *object) (string, bool) {
	if ref, ok := o.text("$ref"); ok {
		return ref, true
	}
	return o.text("$dynamicRef")
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~", "%24", "$", "%25", "%", "%22", `"`)

// resolve returns what a reference within the schema leads to, nil for any other reference.
func (f *fitter) resolve(ref string) any {
	base, pointer, _ := strings.Cut(ref, "#")
	var at any = f.root
	if base != "" {
		at = f.anchors[base]
	}
	switch {
	case at == nil || pointer == "":
		return at
	case !strings.HasPrefix(pointer, "/"):
		return f.anchors[base+"#"+pointer]
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		switch here := at.(type) {
		case *object:
			at = here.values[unescape.Replace(part)]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(here) {
				return nil
			}
			at = here[n]
		default:
			return nil
		}
	}
	return at
}

// anchorsOf collects the schemas that have a name: by "#name", by their address, and by both.
func anchorsOf(all map[string]any, v any, base string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			anchorsOf(all, e, base)
		}
	case *object:
		if id, ok := v.text("$id"); ok {
			id = strings.TrimSuffix(id, "#")
			base, all[id] = id, v
		}
		for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
			name, ok := v.text(keyword)
			if !ok {
				continue
			}
			for _, address := range slices.Compact([]string{"#" + name, base + "#" + name}) {
				if _, have := all[address]; have {
					all[address] = nil // which one is meant depends on where it is read
				} else {
					all[address] = v
				}
			}
		}
		for _, key := range v.keys {
			anchorsOf(all, v.values[key], base)
		}
	}
}

// prune removes definitions to which no reference leads.
func prune(o *object) {
	for _, keyword := range []string{"$defs", "definitions"} {
		defs, ok := o.values[keyword].(*object)
		if !ok {
			continue
		}
		o.remove(keyword)
		used := map[string]bool{}
		text := string(write(nil, o))
		for more := true; more; {
			more = false
			for _, name := range defs.keys {
				if used[name] || !strings.Contains(text, "#/"+keyword+"/"+pointerTo(name)) {
					continue
				}
				used[name], more = true, true
				text += string(write(nil, defs.values[name]))
			}
		}
		kept := newObject()
		for _, name := range defs.keys {
			if used[name] {
				kept.set(name, defs.values[name])
			}
		}
		if len(kept.keys) > 0 {
			o.set(keyword, kept)
		}
	}
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// pointerTo returns a name as it is written in JSON within a reference.
func pointerTo(name string) string { return strings.Trim(string(quoted(escape.Replace(name))), `"`) }
