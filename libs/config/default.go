package config

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Default returns a configuration whose fields have the values of their default tags, which are written as in the environment:
//
//	Timeout time.Duration `yaml:"timeout" default:"30s" doc:"Timeout of one call."`
//	Limits  Limits        `yaml:"limits" default:"{memory: 8GiB}"`
//
// The tag of a struct overrides those inside it. Default panics if a tag cannot be read.
func Default[T any]() T {
	var out T
	l := &loader{origins: map[string]origin{}}
	l.preset(reflect.ValueOf(&out).Elem())
	if len(l.errs) > 0 {
		panic(errors.Join(l.errs...))
	}
	return out
}

func (l *loader) preset(v reflect.Value) {
	for f, field := range v.Fields() {
		if isObject(field) {
			l.preset(field)
		}
		if text := f.Tag.Get("default"); text != "" && field.CanSet() {
			path, n, layer := []string{v.Type().String(), f.Name}, build(f.Type, nil), map[string]any{}
			l.put(layer, path[1:], n, text, "default tag")
			l.origins[strings.Join(path, delim)] = origin{text: "default tag"}
			l.decode(field, n, layer[f.Name], path)
		}
	}
}

func isObject(v reflect.Value) bool { return v.Kind() == reflect.Struct && !readsText(v.Type()) }

// Fill sets the fields of a configuration that are zero to the values of their default tags. Zero stays where it is a setting: in booleans,
// lists, maps, and fields with the tag zero:"off".
func Fill[T any](c *T) {
	d := Default[T]()
	fill(reflect.ValueOf(c).Elem(), reflect.ValueOf(&d).Elem())
}

func fill(v, defaults reflect.Value) {
	for f, field := range v.Fields() {
		def := defaults.FieldByIndex(f.Index)
		switch {
		case isObject(field):
			fill(field, def)
		case !field.CanSet() || f.Tag.Get("zero") == "off":
		case field.Kind() != reflect.Bool && field.Kind() != reflect.Slice && field.Kind() != reflect.Map && field.IsZero():
			field.Set(def)
		}
	}
}

// CheckNotNegative returns an error that names the first key of a configuration with a negative number or time. It ignores lists and maps.
func CheckNotNegative(c any) error {
	v := reflect.Indirect(reflect.ValueOf(c))
	root := schemaOf(v.Type())
	var err error
	walk(root, nil, func(path []string, _ *node) {
		if x := lookup(v, root, path); err == nil && x.IsValid() && (x.CanInt() && x.Int() < 0 || x.CanFloat() && x.Float() < 0) {
			err = fmt.Errorf("%s must not be negative", dotted(path))
		}
	})
	return err
}
