package schema

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/canon"
)

const order = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["id","lines"],
	"properties":{"id":{"type":"string","minLength":3},"count":{"type":"integer","minimum":1},
	"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},"mode":{"enum":["a","b"]}},
	"additionalProperties":false,"$defs":{"line":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"}}}}}`

func TestValidate(t *testing.T) {
	for _, row := range []struct{ name, schema, args, want string }{
		{"it fits", order, `{"id":"abc","count":3,"lines":[{"sku":"x"}]}`, ""},
		{"an integer as 3.0", order, `{"id":"abc","count":3.0,"lines":[]}`, ""},
		{"two are missing", order, `{}`, "/id is required; /lines is required"},
		{"deep inside", order, `{"id":"abc","lines":[{"sku":"x"},{}]}`, "/lines/1/sku is required"},
		{"an unknown one", order, `{"id":"abc","lines":[],"colour":1}`, "/colour is not known"},
		{"types", order, `{"id":7,"lines":"x","count":1.5}`, "/count got number, want integer; /id got number, want string; /lines got string, want array"},
		{"an enum", order, `{"id":"abc","lines":[],"mode":"c"}`, "/mode value must be one of 'a', 'b'"},
		{"old drafts", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["a"]}`, `{}`, "/a is required"},
		{"no schema", ``, `{"x":1}`, ""},
		{"true accepts all", `true`, `{"x":1}`, ""},
		{"false accepts nothing", `false`, `{}`, " false schema"},
		{"a key with slashes", `{"properties":{"a/b~c":{"type":"string"}}}`, `{"a/b~c":1}`, "/a~1b~0c got number, want string"},
		{"not JSON", `{`, `{"x":1}`, ""},
		{"a broken schema", `{"type":"nonsense"}`, `{"x":1}`, ""},
		{"a reference into the world", `{"$ref":"https://example.com/s.json"}`, `{"x":1}`, ""},
		{"a reference to a file", `{"$ref":"file:///etc/passwd"}`, `{"x":1}`, ""},
		{"a pattern that Go cannot read", `{"properties":{"a":{"pattern":"(?=x)"}}}`, `{"a":"y"}`, ""},
		{"a loop", `{"$ref":"#"}`, `{"x":1}`, ""},
	} {
		cache, err := NewCache(10, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		args, err := canon.Parse([]byte(row.args))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range cache.Add(t.Context(), "h", "n__a", []byte(row.schema)).Validate(args) {
			got = append(got, f.Pointer+" "+f.Message)
		}
		if strings.Join(got, "; ") != row.want {
			t.Errorf("%s: %q, want %q", row.name, strings.Join(got, "; "), row.want)
		}
	}
}

func TestUnusableSchemaIsLoggedOnce(t *testing.T) {
	var text bytes.Buffer
	cache, err := NewCache(10, slog.New(slog.NewTextHandler(&text, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		v, ok := cache.Get("h")
		if !ok {
			v = cache.Add(t.Context(), "h", "n__a", []byte(`{"type":7}`))
		}
		if v.Validate(map[string]any{"x": 1}) != nil {
			t.Error("it refuses")
		}
	}
	if n := strings.Count(text.String(), "arguments are not checked"); n != 1 {
		t.Errorf("logged %d times: %s", n, text.String())
	}
}

func TestFaultsAreBounded(t *testing.T) {
	cache, err := NewCache(10, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for i := range 500 {
		args[fmt.Sprint("x", i)] = true
	}
	if n := len(cache.Add(t.Context(), "h", "n__a", []byte(`{"additionalProperties":false}`)).Validate(args)); n != maxFaults {
		t.Errorf("%d faults", n)
	}
}
