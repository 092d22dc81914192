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

func validate(t *testing.T, v Validator, args map[string]any) []Fault {
	t.Helper()
	faults, err := v.Validate(t.Context(), args)
	if err != nil {
		t.Fatal(err)
	}
	return faults
}

func TestValidate(t *testing.T) {
	for _, row := range []struct{ name, schema, args, want string }{
		{"it fits", order, `{"id":"abc","count":3,"lines":[{"sku":"x"}]}`, ""},
		{"an integer as 3.0", order, `{"id":"abc","count":3.0,"lines":[]}`, ""},
		{"two are missing", order, `{}`, "/id is required; /lines is required"},
		{"deep inside", order, `{"id":"abc","lines":[{"sku":"x"},{}]}`, "/lines/1/sku is required"},
		{"an unknown one", order, `{"id":"abc","lines":[],"colour":1}`, "/colour is not known"},
		{
			"types", order, `{"id":7,"lines":"x","count":1.5}`,
			"/count got number, want integer; /id got number, want string; /lines got string, want array",
		},
		{"an enum", order, `{"id":"abc","lines":[],"mode":"c"}`, "/mode value must be one of 'a', 'b'"},
		{"a constant", `{"properties":{"a":{"const":1}}}`, `{"a":2}`, "/a value must be 1"},
		{"a constant as 1.0", `{"properties":{"a":{"const":1}}}`, `{"a":1.0}`, ""},
		{"a constant object", `{"properties":{"a":{"const":{"x":[1,{"y":null}]}}}}`, `{"a":{"x":[1e0,{"y":null}]}}`, ""},
		{"an enum of one", `{"properties":{"a":{"enum":["x"]}}}`, `{"a":"y"}`, "/a value must be 'x'"},
		{"an enum of kinds", `{"properties":{"a":{"enum":[1,true,null,[1]]}}}`, `{"a":[1]}`, ""},
		{"items that are unique", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[1,"1",[1],{"a":1}]}`, ""},
		{
			"items that are not", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[{"a":1,"b":2},3,{"b":2.0,"a":1}]}`,
			"/a items at 0 and 2 are equal",
		},
		{"a pattern", `{"properties":{"a":{"pattern":"^a+$"}}}`, `{"a":"ab"}`, "/a 'ab' does not match pattern '^a+$'"},
		{
			"a format of an old draft", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"ipv4"}}}`, `{"a":"1.2"}`,
			"/a '1.2' is not valid ipv4: expected four decimals",
		},
		{"unevaluated properties", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "/b false schema"},
		{
			"a tree", `{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"l":{"$ref":"#/$defs/n"},"v":{"type":"integer"}}}}}`, `{"l":{"l":{"v":"x"}}}`,
			"/l/l/v got string, want integer",
		},
		{
			"a reference by anchor", `{"properties":{"a":{"$ref":"#s"}},"$defs":{"x":{"$anchor":"s","type":"string"}}}`, `{"a":1}`,
			"/a got number, want string",
		},
		{
			"a reference by id",
			`{"$id":"https://x.test/s","properties":{"a":{"$ref":"https://x.test/s#/$defs/x"}},"$defs":{"x":{"type":"string"}}}`, `{"a":1}`,
			"/a got number, want string",
		},
		{
			"a reference to an odd place", `{"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":{"type":"string"}}}`, `{"a":1}`,
			"/a got number, want string",
		},
		{"a choice", `{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":1}`, ""},
		{"a condition", `{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, "/b is required"},
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
		for _, f := range validate(t, cache.Add(t.Context(), "h", "n__a", []byte(row.schema)), args) {
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
		if validate(t, v, map[string]any{"x": 1}) != nil {
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
	if n := len(validate(t, cache.Add(t.Context(), "h", "n__a", []byte(`{"additionalProperties":false}`)), args)); n != maxFaults {
		t.Errorf("%d faults", n)
	}
}
