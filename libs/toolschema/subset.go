package toolschema

import (
	"encoding/json"
	"regexp"
	"slices"
)

// ownRef are the references that are kept: those to definitions, and to the whole.
var ownRef = regexp.MustCompile(`^#(/(\$defs|definitions)/[^/%]+)?$`)

// silent are keywords that are left out without a word: they are about the schema, not about a value.
var silent = []string{
	"unevaluatedProperties", "unevaluatedItems", "$schema", "$id", "$comment", "$anchor", "$dynamicAnchor", "$defs", "definitions", "title",
	"xml", "externalDocs",
}

// schema returns a schema as it is offered. A value that is no schema becomes one that allows everything.
func (f *fitter) schema(v any, depth int) any {
	o, ok := v.(*object)
	if !ok {
		if raw := string(write(nil, v)); raw != "true" && raw != "false" {
			f.note("a schema that is " + raw[:min(len(raw), 20)] + " is offered as any value")
		}
		return f.anything()
	}
	if f.budget--; f.budget < 0 {
		return f.anything()
	}
	if !f.form.Takes("allOf", depth) {
		o = unwrap(o)
	}
	o, leave, again := f.enter(o)
	defer leave()
	if depth > f.depth || again {
		return f.stub(o, depth)
	}
	o = f.lowered(o, depth)
	if branches := o.list("anyOf"); len(branches) > 0 && f.form.AnyOfAlone && depth > 0 {
		return f.alternatives(o, branches, depth)
	}
	out := newObject()
	out.lost = o.lost
	for _, key := range o.keys {
		f.keyword(out, key, o.values[key], depth)
	}
	return f.complete(out, depth)
}

// keyword offers a keyword, or says it in words.
func (f *fitter) keyword(out *object, key string, v any, depth int) {
	test := checkOf(key)
	switch {
	case key == "description" && depth == 0:
	case !f.form.Takes(key, depth):
		if test != nil || key == "default" || key == "const" || key == "example" {
			out.lose(key, v)
		}
		return
	case test == nil:
		if f.form.Keywords == nil {
			out.set(key, v)
		}
		return
	}
	kept, ok := test(f, v, depth)
	if ok && slices.Contains([]string{"not", "if", "contains", "oneOf"}, key) && string(write(nil, kept)) != string(write(nil, v)) {
		f.relaxed(out, key, v, kept)
		return
	}
	if ok {
		out.set(key, kept)
	} else if !slices.Contains(silent, key) && checkOf(key) != nil && key != "additionalItems" && key != "$vocabulary" {
		f.note("the keyword " + key + " has a value that it cannot have, and is not offered")
	}
}

// relaxed offers a keyword that allows less if what is in it allows more: alternatives as anyOf, others in words.
func (f *fitter) relaxed(out *object, key string, v, kept any) {
	if key == "oneOf" && !out.has("anyOf") {
		out.set("anyOf", kept)
		return
	}
	out.lose(key, v)
}

// enter replaces the reference of a schema, unless it is kept. Leave ends that. Again means that the reference is inside what it leads to.
func (f *fitter) enter(o *object) (out *object, leave func(), again bool) {
	leave = func() {}
	ref, ok := refOf(o)
	kept := !f.form.Inline && o.has("$ref") && ownRef.MatchString(ref) && f.resolve(ref) != nil && (ref != "#" || f.plain(f.root))
	if !ok || kept {
		return o, leave, false
	}
	given := quoted(ref)
	var open []string
	for n := 0; ok && n <= maxRefs; n++ {
		open = append(open, ref)
		f.open[ref]++
		again = again || f.open[ref] > 1
		next, _ := f.resolve(ref).(*object)
		if next == nil {
			break
		}
		ref, ok = refOf(next)
	}
	if again {
		o = o.clone()
		o.lose("$ref", given)
	}
	return f.deref(o, 0), func() {
		for _, ref := range open {
			f.open[ref]--
		}
	}, again
}

// stub is a schema without what is nested in it.
func (f *fitter) stub(o *object, depth int) any {
	out := newObject()
	out.lost = o.lost
	for _, key := range []string{"type", "description"} {
		if o.has(key) {
			out.set(key, o.values[key])
		}
	}
	if !out.has("type") && f.form.OneType {
		switch {
		case o.properties() != nil:
			out.set("type", quoted("object"))
		case o.has("items"):
			out.set("type", quoted("array"))
		default:
			return f.anything()
		}
	}
	if len(out.lost) == 0 {
		out.lose("nested", quoted("not shown"))
	}
	f.oneType(out, depth)
	if out.has("anyOf") {
		return f.anything()
	}
	return f.complete(out, depth)
}

// lowered expresses keywords that the API does not take with others.
func (f *fitter) lowered(o *object, depth int) *object {
	o = o.clone()
	alone := f.form.AnyOfAlone && depth > 0 && o.has("properties") && (o.has("anyOf") || o.has("oneOf"))
	switch all := o.has("allOf") && !f.form.Takes("allOf", depth); {
	case all && !alone && f.merge(o):
	case (all || alone) && f.objects(o, 0):
		if joined, ok := f.join(o); ok {
			o = joined
		}
	}
	if list := o.list("oneOf"); list != nil && !f.form.Takes("oneOf", depth) && !o.has("anyOf") {
		o.remove("oneOf")
		o.set("anyOf", list)
	}
	if c, ok := o.values["const"]; ok && !f.form.Takes("const", depth) && !o.has("enum") {
		o.remove("const")
		o.set("enum", []any{c})
	}
	if o.has("prefixItems") && o.has("items") && !f.form.Takes("prefixItems", depth) {
		o.lose("items", o.values["items"]) // they are those behind the first ones
		o.remove("items")
	}
	f.oneType(o, depth)
	if name, ok := o.values["type"]; ok && f.form.AnyOfAlone && depth > 0 {
		f.typeBranches(o, name)
	}
	return o
}

// unwrap puts the only branch of allOf in its place, as far as nothing is there.
func unwrap(o *object) *object {
	list := o.list("allOf")
	if len(list) != 1 || o.has("properties") || o.has("$ref") {
		return o
	}
	branch, ok := list[0].(*object)
	if !ok {
		return o
	}
	o = o.clone()
	o.remove("allOf")
	o.fill(branch)
	return o
}

// fill adds the keywords that are not there.
func (o *object) fill(from *object) {
	for _, key := range from.keys {
		if !o.has(key) {
			o.set(key, from.values[key])
		}
	}
}

// merge puts the branches of allOf in its place, unless one is about objects: those are joined.
func (f *fitter) merge(o *object) bool {
	var branches []*object
	for _, v := range o.list("allOf") {
		branch, ok := v.(*object)
		if !ok {
			return false
		}
		branch = f.deref(branch, 0)
		if branch.has("properties") || admits(branch, "object") || branch.has("allOf") || branch.has("anyOf") || branch.has("oneOf") {
			return false
		}
		branches = append(branches, branch)
	}
	o.remove("allOf")
	for _, branch := range branches {
		o.fill(branch)
	}
	return true
}

// objects reports whether a schema is about objects, itself or in a branch.
func (f *fitter) objects(o *object, depth int) bool {
	o = f.deref(o, 0)
	if o.has("properties") || admits(o, "object") {
		return true
	}
	return depth < 4 && slices.ContainsFunc(o.list("allOf"), func(v any) bool {
		branch, ok := v.(*object)
		return ok && f.objects(branch, depth+1)
	})
}

// typeBranches gives the alternatives of a schema its type.
func (f *fitter) typeBranches(o *object, name any) {
	branches := o.list("anyOf")
	if branches == nil {
		return
	}
	typed := make([]any, len(branches))
	for i, b := range branches {
		typed[i] = b
		if inner, ok := b.(*object); ok && !slices.ContainsFunc([]string{"type", "$ref", "anyOf", "oneOf", "allOf"}, inner.has) {
			inner = inner.clone()
			inner.set("type", name)
			typed[i] = inner
		}
	}
	o.set("anyOf", typed)
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
		made := f.schema(b, depth+1)
		if inner, ok := made.(*object); ok && inner.has("anyOf") && len(inner.keys) == 1 {
			kept = append(kept, inner.list("anyOf")...)
			continue
		}
		kept = append(kept, made)
	}
	if len(kept) == 0 {
		return f.anything()
	}
	first, _ := kept[0].(*object)
	for _, key := range o.keys { // what is beside the alternatives
		if key != "anyOf" && key != "description" && key != "type" && key != "nullable" {
			first.lose(key, o.values[key])
		}
	}
	if d, ok := o.text("description"); ok {
		if own, ok := first.text("description"); ok && own != d {
			d += "\n" + own
		}
		first.set("description", quoted(d))
	}
	first.lost = union(first.lost, o.lost)
	if null = null || string(write(nil, o.values["nullable"])) == "true"; null {
		f.nullable(first)
	}
	first.say()
	if len(kept) == 1 {
		return first
	}
	out := newObject()
	out.set("anyOf", kept)
	return out
}

// nullable lets a schema be null.
func (f *fitter) nullable(o *object) {
	if f.form.Takes("nullable", 1) {
		o.set("nullable", json.RawMessage("true"))
		return
	}
	o.lose("or", json.RawMessage("null"))
}

// oneType gives a schema with several types one, or alternatives.
func (f *fitter) oneType(o *object, depth int) {
	if !f.form.OneType {
		return
	}
	list := o.list("type")
	if name, _ := o.text("type"); name == "null" {
		list = []any{quoted("null"), quoted("string")}
	}
	if list == nil {
		return
	}
	o.remove("type")
	var names []string
	for _, v := range list {
		if name, _ := text(v); name == "null" {
			f.nullable(o)
		} else if types[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 1 || depth == 0 && len(names) > 0:
		o.set("type", quoted(names[0]))
		return
	case len(names) == 0 || o.has("anyOf"):
		return
	}
	var branches []any
	for _, name := range names {
		b := newObject()
		b.set("type", quoted(name))
		for _, key := range o.keys {
			if owners := belongs[key]; slices.Contains(owners, name) {
				b.set(key, o.values[key])
			}
		}
		branches = append(branches, b)
	}
	for _, key := range slices.Clone(o.keys) {
		if belongs[key] != nil {
			o.remove(key)
		}
	}
	o.set("anyOf", branches)
}

// belongs has the types to which keywords belong.
var belongs = map[string][]string{
	"properties": {"object"}, "required": {"object"}, "additionalProperties": {"object"}, "patternProperties": {"object"},
	"minProperties": {"object"}, "maxProperties": {"object"}, "propertyNames": {"object"},
	"items": {"array"}, "minItems": {"array"}, "maxItems": {"array"}, "uniqueItems": {"array"}, "prefixItems": {"array"},
	"minLength": {"string"}, "maxLength": {"string"}, "pattern": {"string"}, "enum": {"string"},
	"format": {"string", "number", "integer"}, "minimum": {"number", "integer"}, "maximum": {"number", "integer"},
}

// anything returns a schema that allows all values, as far as the form has one.
func (f *fitter) anything() any {
	if !f.form.OneType {
		return newObject()
	}
	list := newObject()
	list.set("type", quoted("array"))
	list.set("items", anyOf(scalars()...))
	return anyOf(append(scalars(), list)...)
}

func scalars() []any {
	var out []any
	for _, name := range []string{"string", "number", "boolean", "object"} {
		o := newObject()
		o.set("type", quoted(name))
		out = append(out, o)
	}
	return out
}

func anyOf(branches ...any) any {
	o := newObject()
	o.set("anyOf", branches)
	return o
}
