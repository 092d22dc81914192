package config

import (
	"reflect"
	"testing"
)

func TestMerge(t *testing.T) {
	type m = map[string]any
	for _, row := range []struct {
		name                string
		below, above, merge m
	}{
		{"other keys stay", m{"a": 1}, m{"b": 2}, m{"a": 1, "b": 2}},
		{"the later value wins", m{"a": 1}, m{"a": 2}, m{"a": 2}},
		{
			"mappings are merged at any depth",
			m{"a": m{"b": m{"c": 1, "d": 2}}},
			m{"a": m{"b": m{"d": 3}, "e": 4}},
			m{"a": m{"b": m{"c": 1, "d": 3}, "e": 4}},
		},
		{"lists are replaced", m{"a": []any{1, 2}}, m{"a": []any{3}}, m{"a": []any{3}}},
		{"a mapping replaces a value", m{"a": 1}, m{"a": m{"b": 2}}, m{"a": m{"b": 2}}},
		{"a value replaces a mapping", m{"a": m{"b": 2}}, m{"a": 1}, m{"a": 1}},
		{"null replaces a mapping", m{"a": m{"b": 2}}, m{"a": nil}, m{"a": nil}},
		{"an empty mapping replaces nothing in a mapping", m{"a": m{"b": 2}}, m{"a": m{}}, m{"a": m{"b": 2}}},
	} {
		if merge(row.below, row.above); !reflect.DeepEqual(row.below, row.merge) {
			t.Errorf("%s: %v, want %v", row.name, row.below, row.merge)
		}
	}
}

// TestMergeCopiesMappings: an anchor in a file is one mapping in two places.
func TestMergeCopiesMappings(t *testing.T) {
	shared := map[string]any{"x": 1}
	values := map[string]any{}
	merge(values, map[string]any{"a": shared, "b": shared})
	merge(values, map[string]any{"a": map[string]any{"x": 2}})
	if got := values["b"].(map[string]any)["x"]; got != 1 || shared["x"] != 1 {
		t.Errorf("b.x is %v, the layer's %v", got, shared["x"])
	}
}
