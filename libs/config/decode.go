package config

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// decode writes a merged value into v. Objects and maps keep entries that the value does not mention; lists are replaced. Null keeps the
// default.
func (l *loader) decode(v reflect.Value, n *node, value any, path []string) {
	if value == nil {
		return
	}
	for v.Kind() == reflect.Pointer && n.typ != v.Type() {
		fresh := reflect.New(v.Type().Elem()) // a copy, so that the defaults do not change
		if !v.IsNil() {
			fresh.Elem().Set(v.Elem())
		}
		v.Set(fresh)
		v = fresh.Elem()
	}
	switch n.kind {
	case raw:
		y, ok := value.(*yaml.Node)
		if !ok || y.Kind != yaml.MappingNode {
			l.fail(path, l.originOf(path).text, "want keys below it")
			return
		}
		v.Addr().Interface().(Node).ReadNode(y, func(line int, key, problem string) {
			at := path
			if key != "" {
				at = append(path[:len(path):len(path)], key)
			}
			l.fail(at, l.line(path, line), "%s", problem)
		})
	case object:
		l.object(v, n, value, path)
	case mapping:
		l.mapping(v, n, value, path)
	case list:
		l.list(v, n, value, path)
	default:
		if err := scalar(v, value); err != nil {
			o := l.originOf(path)
			l.fail(path, o.text, "%s%s", err.want, err.hint(o.secret || readsText(v.Type()) && !known(v.Type())))
		}
	}
}

// Node is a value that reads YAML itself, such as a message of the API.
type Node interface {
	// ReadNode reads a mapping, and calls bad with the line and key of each mistake.
	ReadNode(n *yaml.Node, bad func(line int, key, problem string))
}

// line returns where a line below a path is.
func (l *loader) line(path []string, line int) string {
	from := l.originOf(path).text
	if file, _, ok := strings.Cut(from, l.opts.File+":"); ok && file == "" && l.opts.File != "" {
		return fmt.Sprintf("%s:%d", l.opts.File, line)
	}
	return from
}

func (l *loader) object(v reflect.Value, n *node, value any, path []string) {
	m, ok := value.(map[string]any)
	if !ok {
		l.fail(path, l.originOf(path).text, "want keys below it")
		return
	}
	for _, f := range n.fields {
		if x, ok := m[f.name]; ok {
			l.decode(v.FieldByIndex(f.index), f.node, x, append(path[:len(path):len(path)], f.name))
		}
	}
}

func (l *loader) mapping(v reflect.Value, n *node, value any, path []string) {
	m, ok := value.(map[string]any)
	if !ok {
		l.fail(path, l.originOf(path).text, "want keys below it")
		return
	}
	out := reflect.MakeMap(v.Type()) // a copy, so that the defaults do not change
	for it := v.MapRange(); it.Next(); {
		out.SetMapIndex(it.Key(), it.Value())
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		k := reflect.ValueOf(key).Convert(v.Type().Key())
		elem := reflect.New(v.Type().Elem()).Elem()
		if old := out.MapIndex(k); old.IsValid() {
			elem.Set(old)
		}
		l.decode(elem, n.elem, m[key], append(path[:len(path):len(path)], key))
		out.SetMapIndex(k, elem)
	}
	v.Set(out)
}

func (l *loader) list(v reflect.Value, n *node, value any, path []string) {
	items, ok := value.([]any)
	if !ok {
		l.fail(path, l.originOf(path).text, "want a list")
		return
	}
	if v.Kind() == reflect.Array && len(items) != v.Len() {
		l.fail(path, l.originOf(path).text, "want a list of %d", v.Len())
		return
	}
	out := v
	if v.Kind() == reflect.Slice {
		out = reflect.MakeSlice(v.Type(), len(items), len(items))
	}
	for i, item := range items {
		l.decode(out.Index(i), n.elem, item, append(path[:len(path):len(path)], fmt.Sprintf("[%d]", i)))
	}
	v.Set(out)
}

// wrong says what a value should have been.
type wrong struct {
	want string
	got  string
}

// hint returns the offending text, unless it may be a secret.
func (w *wrong) hint(secret bool) string {
	if secret || w.got == "" {
		return ""
	}
	return fmt.Sprintf(", not %q", w.got)
}

// known reports whether a type reads text and is never a secret.
func known(t reflect.Type) bool { return t == reflect.TypeFor[Size]() }

// plain unwraps the numbers in a value whose target accepts anything.
func plain(value any) any {
	switch x := value.(type) {
	case number:
		return x.Value
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = plain(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = plain(x[k])
		}
		return out
	}
	return value
}

// scalar writes a plain value: text from any layer, or a number, boolean or time from YAML.
func scalar(v reflect.Value, value any) *wrong {
	if v.Kind() == reflect.Interface && v.NumMethod() == 0 {
		v.Set(reflect.ValueOf(plain(value)))
		return nil
	}
	var text string
	switch x := value.(type) {
	case string:
		text = x
	case number:
		text = x.Text
	default:
		return &wrong{want: "want a single value"}
	}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		if err != nil {
			return &wrong{"want a duration such as 30s or 1h30m", text}
		}
		v.SetInt(int64(d))
		return nil
	}
	if readsText(v.Type()) {
		return unmarshalText(v, text)
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		return setBool(v, text)
	default:
		return setNumber(v, text)
	}
	return nil
}

func unmarshalText(v reflect.Value, text string) *wrong {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		v.Set(reflect.New(v.Type().Elem()))
	} else if v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	if err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
		return &wrong{want: err.Error()}
	}
	return nil
}

func setBool(v reflect.Value, text string) *wrong {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return &wrong{"want true or false", text}
	}
	v.SetBool(b)
	return nil
}

func setNumber(v reflect.Value, text string) *wrong {
	switch {
	case v.CanInt():
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil {
			return &wrong{"want a whole number", text}
		}
		v.SetInt(n)
	case v.CanUint():
		n, err := strconv.ParseUint(text, 10, v.Type().Bits())
		if err != nil {
			return &wrong{"want a whole number that is not negative", text}
		}
		v.SetUint(n)
	case v.CanFloat():
		x, err := strconv.ParseFloat(text, v.Type().Bits())
		if err != nil {
			return &wrong{"want a number", text}
		}
		v.SetFloat(x)
	default:
		return &wrong{want: "cannot be configured (" + v.Type().String() + ")"}
	}
	return nil
}
