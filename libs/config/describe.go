package config

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Key describes one configuration key.
type Key struct {
	// Path is the dotted path; <name> stands for a map key and [] for a list index.
	Path string
	// Env is the variable's name; empty for keys inside a list.
	Env string
	// Type is the type of the value: string, bool, int, float, duration, size, list of …, map of ….
	Type string
	// Default is the default value; empty if there is none.
	Default string
	// Doc is the field's doc tag.
	Doc string
}

// Describe lists the keys of a configuration struct in the order of its fields; the values it holds are the defaults. It panics if defaults
// is not a struct or a pointer to one.
func Describe(defaults any, envPrefix string) []Key {
	v := reflect.Indirect(reflect.ValueOf(defaults))
	if v.Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: Describe(%T): want a struct", defaults))
	}
	var out []Key
	walk(schemaOf(v.Type()), nil, func(path []string, n *node) {
		key := Key{Path: dotted(path), Type: typeName(n), Doc: n.doc, Default: valueText(lookup(v, schemaOf(v.Type()), path))}
		if !strings.Contains(key.Path, "[]") {
			key.Env = envName(envPrefix, path)
		}
		out = append(out, key)
	})
	return out
}

// walk visits every key: leaves, and lists and maps, the latter also through one placeholder element.
func walk(n *node, path []string, visit func([]string, *node)) {
	switch n.kind {
	case object:
		for _, f := range n.fields {
			walk(f.node, append(path[:len(path):len(path)], f.name), visit)
		}
		return
	case mapping:
		visit(path, n)
		if n.elem.kind > raw {
			walk(n.elem, append(path[:len(path):len(path)], "<name>"), visit)
		}
		return
	case list:
		visit(path, n)
		if n.elem.kind > raw {
			walk(n.elem, append(path[:len(path):len(path)], "[]"), visit)
		}
		return
	}
	visit(path, n)
}

// lookup returns the default of a path; paths inside maps and lists have none.
func lookup(v reflect.Value, n *node, path []string) reflect.Value {
	for _, key := range path {
		for v.Kind() == reflect.Pointer && !v.IsNil() {
			v = v.Elem()
		}
		f, ok := n.field(key)
		if !ok || v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v, n = v.FieldByIndex(f.index), f.node
	}
	return v
}

func typeName(n *node) string {
	switch n.kind {
	case mapping:
		return "map of " + typeName(n.elem)
	case list:
		return "list of " + typeName(n.elem)
	case object, raw:
		return "object"
	}
	switch {
	case n.typ == reflect.TypeFor[time.Duration]():
		return "duration"
	case n.typ == reflect.TypeFor[Size]():
		return "size"
	case readsText(n.typ), n.typ.Kind() == reflect.String:
		return "string"
	case n.typ.Kind() == reflect.Interface:
		return "any"
	case n.typ.Kind() == reflect.Bool:
		return "bool"
	case n.typ.Kind() == reflect.Float32, n.typ.Kind() == reflect.Float64:
		return "float"
	default:
		return "int"
	}
}

// valueText formats a default. Empty values are omitted, and so are secrets, which print as redacted whether set or not.
func valueText(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() && v.Kind() != reflect.Bool && v.Kind() != reflect.Int ||
		(v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
		return ""
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Struct:
		if text, err := flow(v.Interface()); err == nil {
			return text
		}
	}
	return fmt.Sprint(reflect.Indirect(v).Interface())
}

// flow formats a value as YAML on one line.
func flow(v any) (string, error) {
	var n yaml.Node
	if err := n.Encode(v); err != nil {
		return "", fmt.Errorf("encode default: %w", err)
	}
	n.Style = yaml.FlowStyle
	text, err := yaml.Marshal(&n)
	if err != nil {
		return "", fmt.Errorf("encode default: %w", err)
	}
	return strings.Join(strings.Fields(string(text)), " "), nil
}
