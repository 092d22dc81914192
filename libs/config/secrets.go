package config

import (
	"reflect"

	"github.com/windlass-dev/windlass/libs/secret"
)

// Secrets returns the values of all secrets in a configuration that are set, for programs that replace them in texts.
func Secrets(cfg any) []string {
	var out []string
	reveal(reflect.ValueOf(cfg), &out)
	return out
}

func reveal(v reflect.Value, out *[]string) {
	if !v.IsValid() || !v.CanInterface() {
		return
	}
	if s, ok := reflect.TypeAssert[secret.Value](v); ok {
		if !s.IsZero() {
			*out = append(*out, s.Reveal())
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		reveal(v.Elem(), out)
	case reflect.Struct:
		for _, f := range v.Fields() {
			reveal(f, out)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			reveal(v.Index(i), out)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			reveal(it.Value(), out)
		}
	}
}
