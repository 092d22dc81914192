package toolschema

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// complete gives a compiled schema what the API demands, and removes what does not go together.
func (f *fitter) complete(o *object, depth int) any {
	if f.form.OneType && !f.typed(o) {
		return f.any(o)
	}
	if admits(o, "array") && (!o.has("items") || f.form.OneType && string(write(nil, o.values["items"])) == "{}") {
		o.set("items", newObject())
		if f.form.OneType {
			o.set("items", anyOf(scalars()...))
		}
	}
	if f.form.OneType {
		f.narrow(o)
	}
	f.formats(o)
	f.texts(o)
	f.rename(o)
	f.requires(o)
	if depth == 0 && !f.form.Takes("description", 0) {
		d, _ := o.text("description")
		o.remove("description")
		f.words = strings.TrimSpace(d + " " + o.inWords())
		return o
	}
	o.say()
	return o
}

// any returns a schema of all values with the words of one that has no type.
func (f *fitter) any(o *object) any {
	out, _ := f.anything().(*object)
	first, _ := out.list("anyOf")[0].(*object)
	if d, ok := o.text("description"); ok {
		first.set("description", quoted(d))
	}
	first.lost = o.lost
	for _, key := range o.keys {
		if key != "description" && key != "type" {
			first.lose(key, o.values[key])
		}
	}
	first.say()
	return out
}

// typed gives a schema a type, if it is known.
func (f *fitter) typed(o *object) bool {
	if o.has("type") {
		return true
	}
	switch {
	case o.has("properties"), o.has("required"):
		o.set("type", quoted("object"))
	case o.has("items"):
		o.set("type", quoted("array"))
	case o.has("enum"):
		name := typeOf(o.list("enum"))
		if name == "" {
			return false
		}
		o.set("type", quoted(name))
	case o.has("pattern"), o.has("minLength"), o.has("maxLength"), o.has("format"):
		o.set("type", quoted("string"))
	case o.has("minimum"), o.has("maximum"):
		o.set("type", quoted("number"))
	default:
		return false
	}
	return true
}

// typeOf returns the type of all values, "" if they have several.
func typeOf(values []any) string {
	name := ""
	for _, v := range values {
		is := ""
		switch raw := string(write(nil, v)); {
		case raw == "true" || raw == "false":
			is = "boolean"
		case strings.HasPrefix(raw, `"`):
			is = "string"
		case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
			is = "number"
		}
		if is == "" || name != "" && name != is {
			return ""
		}
		name = is
	}
	return name
}

// narrow removes from a schema with one type what belongs to others.
func (f *fitter) narrow(o *object) {
	for _, key := range slices.Clone(o.keys) {
		owners := belongs[key]
		if owners != nil && !slices.ContainsFunc(owners, func(name string) bool { return admits(o, name) }) {
			if key == "enum" {
				o.lose(key, o.values[key])
			}
			o.remove(key)
		}
	}
}

// formats leaves out formats that the API does not take.
func (f *fitter) formats(o *object) {
	format, ok := o.text("format")
	name, _ := o.text("type")
	if ok && f.form.Formats != nil && !slices.Contains(f.form.Formats[name], format) {
		o.lose("format", quoted(format))
		o.remove("format")
	}
}

// texts leaves out enums that are not of texts.
func (f *fitter) texts(o *object) {
	list := o.list("enum")
	if !f.form.TextEnums || list == nil {
		return
	}
	if slices.ContainsFunc(list, func(v any) bool { s, ok := text(v); return !ok || s == "" }) {
		o.lose("enum", list)
		o.remove("enum")
	}
}

// rename replaces the names of properties that the API does not take.
func (f *fitter) rename(o *object) {
	named := o.properties()
	if named == nil || f.form.Keys == nil {
		return
	}
	if !slices.ContainsFunc(named.keys, func(name string) bool { return !f.form.Keys.MatchString(name) }) {
		return
	}
	out, made := newObject(), map[string]string{}
	for _, name := range named.keys {
		value := named.values[name]
		if !f.form.Keys.MatchString(name) {
			made[name] = keyFor(name)
			f.keys[made[name]] = name
			if inner, ok := value.(*object); ok {
				inner.saySent(name)
			}
			name = made[name]
		}
		out.set(name, value)
	}
	o.set("properties", out)
	if list := o.list("required"); list != nil {
		renamed := make([]any, len(list))
		for i, v := range list {
			renamed[i] = v
			if name, ok := text(v); ok && made[name] != "" {
				renamed[i] = quoted(made[name])
			}
		}
		o.set("required", renamed)
	}
}

const (
	maxKey = 64
	hashed = 4 // bytes of a hash: two names do not become the same
)

// keyFor derives a name that every API takes: the words of the given one, and a hash.
func keyFor(name string) string {
	sum := sha256.Sum256([]byte(name))
	end := "_" + hex.EncodeToString(sum[:hashed])
	kept := strings.Map(func(c rune) rune {
		if c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name)
	kept = "p_" + strings.Trim(kept, "_")
	return kept[:min(len(kept), maxKey-len(end))] + end
}

// requires leaves out the names of properties that are not there, where the API demands that.
func (f *fitter) requires(o *object) {
	list := o.list("required")
	if list == nil || !f.form.OneType {
		return
	}
	named := o.properties()
	var kept, others []any
	for _, v := range list {
		if name, _ := text(v); named != nil && named.has(name) {
			kept = append(kept, v)
		} else {
			others = append(others, v)
		}
	}
	if len(others) > 0 {
		o.lose("required", others)
	}
	if o.set("required", kept); len(kept) == 0 {
		o.remove("required")
	}
}

const (
	maxValue = 200 // bytes of a value in words
	maxWords = 600 // bytes of all words of a schema
)

// lose says a keyword in words.
func (o *object) lose(keyword string, v any) {
	if slices.Contains(silent, keyword) || strings.HasPrefix(keyword, "x-") {
		return
	}
	raw := string(write(nil, v))
	switch raw {
	case "null", "[]", "{}", "true", "false", `""`:
		if keyword != "const" && keyword != "default" && keyword != "or" && (raw != "true" || keyword == "additionalProperties") {
			return
		}
	}
	if len(raw) > maxValue {
		raw = truncate.Bytes(raw, maxValue)
	}
	o.lost = union(o.lost, []string{keyword + ": " + raw})
}

// inWords returns what is said in words.
func (o *object) inWords() string {
	if len(o.lost) == 0 {
		return ""
	}
	return "[" + truncate.Bytes(strings.Join(o.lost, "; "), maxWords) + "]"
}

// say puts what is said in words into the description.
func (o *object) say() {
	if len(o.lost) == 0 {
		return
	}
	d, _ := o.text("description")
	o.set("description", quoted(strings.TrimSpace(d+" "+o.inWords())))
	o.lost = nil
}

// saySent says under which name a property is sent.
func (o *object) saySent(name string) {
	if branches := o.list("anyOf"); len(branches) > 0 && len(o.keys) == 1 {
		if first, ok := branches[0].(*object); ok {
			o = first
		}
	}
	o.lost = []string{"sent as " + string(quoted(name))}
	o.say()
}
