package config

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

type kind int

const (
	leaf kind = iota
	raw       // reads YAML itself
	object
	mapping
	list
)

// node is the schema of one path in the configuration.
type node struct {
	kind   kind
	typ    reflect.Type
	doc    string
	fields []field // of an object
	elem   *node   // of a mapping or list
}

// field is a named part of an object.
type field struct {
	name  string
	index []int
	node  *node
}

func (n *node) field(name string) (field, bool) {
	for _, f := range n.fields {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

func (n *node) names() []string {
	out := make([]string, len(n.fields))
	for i, f := range n.fields {
		out[i] = f.name
	}
	return out
}

// schemaOf builds the schema of a type. A recursive type becomes a leaf, which only reads text.
func schemaOf(t reflect.Type) *node { return build(t, nil) }

func build(t reflect.Type, above []reflect.Type) *node {
	for t.Kind() == reflect.Pointer && !readsText(t) {
		t = t.Elem()
	}
	n := &node{typ: t}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[Node]()) {
		n.kind = raw
		return n
	}
	if readsText(t) || t == reflect.TypeFor[time.Duration]() {
		return n
	}
	if slices.Contains(above, t) {
		return n
	}
	above = append(above[:len(above):len(above)], t)
	switch t.Kind() {
	case reflect.Struct:
		n.kind = object
		n.fields = fieldsOf(t, nil, above)
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			n.kind, n.elem = mapping, build(t.Elem(), above)
		}
	case reflect.Slice, reflect.Array:
		n.kind, n.elem = list, build(t.Elem(), above)
	}
	return n
}

func fieldsOf(t reflect.Type, prefix []int, above []reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		index := append(prefix[:len(prefix):len(prefix)], i)
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
			continue
		case option == "inline" || f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			out = append(out, fieldsOf(f.Type, index, above)...)
			continue
		case name == "":
			name = snake(f.Name)
		}
		n := build(f.Type, above)
		n.doc = f.Tag.Get("doc")
		out = append(out, field{name: name, index: index, node: n})
	}
	return out
}

// readsText reports whether values of the type, or pointers to them, are read from text.
func readsText(t reflect.Type) bool {
	text := reflect.TypeFor[encoding.TextUnmarshaler]()
	return t.Implements(text) || t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(text)
}

// snake turns DatabaseURL into database_url.
func snake(s string) string {
	var out strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
