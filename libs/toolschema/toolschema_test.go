package toolschema_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/toolschema"
)

func TestSchemasAreOfferedAsAPIsAcceptThem(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{"a good one, byte for byte", ` {"type":"object", "properties":{"z":{"type":"string"},"a":{}}}`, ``},
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"an empty one", `{}`, `{"type":"object","properties":{}}`},
		{
			"alternatives of what is required",
			`{"type":"object","properties":{"id":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["mail"]}]}`,
			`{"type":"object","properties":{"id":{"type":"string"}}}`,
		},
		{
			"alternatives that all require the same", `{"oneOf":[{"properties":{"a":{},"b":{}},"required":["a","b"]},{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a"]}`,
		},
		{
			"one of two objects",
			`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`,
		},
		{
			"the same property in two ways", `{"anyOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":1},{"const":2}]}}}`,
		},
		{
			"all of", `{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]}],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		},
		{
			"an object or null", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		{
			"an array without items", `{"type":"object","properties":{"tags":{"type":"array"},"more":{"type":["array","null"]}}}`,
			`{"type":"object","properties":{"tags":{"type":"array","items":{}},"more":{"type":["array","null"],"items":{}}}}`,
		},
		{
			"an array without items deep inside",
			`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"anyOf":[{"type":"array"},{"type":"null"}]}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"anyOf":[{"type":"array","items":{}},{"type":"null"}]}}}}}`,
		},
		{"a list of properties", `{"type":"object","properties":[]}`, `{"type":"object","properties":{}}`},
		{
			"properties that are no schemas", `{"type":"object","properties":{"a":"string","b":null,"c":true}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{}}}`,
		},
		{
			"null for a list", `{"type":"object","properties":{"a":{}},"required":null,"description":null}`,
			`{"type":"object","properties":{"a":{}}}`,
		},
		{
			"drafts 3 and 4", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{` +
				`"n":{"type":"number","minimum":0,"exclusiveMinimum":true,"required":true},"t":{"type":"array","items":[{"type":"string"}]}}}`,
			`{"type":"object","properties":{"n":{"type":"number","minimum":0},"t":{"type":"array","items":{}}}}`,
		},
		{
			"types that do not exist", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":["string","uuid"]},"c":{"type":7}}}`,
			`{"type":"object","properties":{"a":{},"b":{},"c":{}}}`,
		},
		{"empty lists", `{"type":"object","properties":{"a":{"enum":[],"anyOf":[]}}}`, `{"type":"object","properties":{"a":{}}}`},
		{
			"expressions of another language", `{"type":"object","properties":{"a":{"pattern":"^\\p{L}+$"},"b":{"pattern":"^[a-z]+$"},"c":{"pattern":"("}}}`,
			`{"type":"object","properties":{"a":{},"b":{"pattern":"^[a-z]+$"},"c":{}}}`,
		},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/b"},"c":{"$ref":"http://x.test/y"}},"$defs":{"a":{}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{},"c":{}},"$defs":{"a":{}}}`,
		},
		{
			"a reference at the top", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"type":"array"}}}}}`,
			`{"$defs":{"a":{"type":"object","properties":{"x":{"type":"array","items":{}}}}},"type":"object",` +
				`"properties":{"x":{"type":"array","items":{}}}}`,
		},
		{"a reference to itself", `{"$ref":"#"}`, `{"type":"object","properties":{}}`},
		{
			"conditions", `{"type":"object","properties":{"a":{}},"if":{"required":["a"]},"then":{"properties":{"b":{}}},"not":{"required":["c"]}}`,
			`{"type":"object","properties":{"a":{},"b":{}}}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := row.want
			if want == "" {
				want = row.schema
			}
			if row.name == "nothing" {
				want = row.want
			}
			got, err := toolschema.Fit(row.schema, toolschema.Form{})
			if err != nil || string(got.JSON) != want {
				t.Fatalf("%s, %v, want %s", got.JSON, err, want)
			}
			again, err := toolschema.Fit(string(got.JSON), toolschema.Form{})
			if err != nil || string(again.JSON) != want || len(again.Notes) > 0 {
				t.Errorf("what is offered is changed again: %s, %v, %q", again.JSON, err, again.Notes)
			}
		})
	}
}

func TestWhatTakesNoObjectIsNotOffered(t *testing.T) {
	for _, schema := range []string{
		`[1]`, `"x"`, `null`, `{"type":"array"}`, `{"type":["string","null"]}`, `{`, `{} {}`,
		strings.Repeat(`{"not":`, 200) + "1" + strings.Repeat("}", 200),
	} {
		if got, err := toolschema.Fit(schema, toolschema.Form{}); err == nil {
			t.Errorf("%.50s is offered as %s", schema, got.JSON)
		}
	}
}

func TestTheSubsetHasNothingElse(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{
			"keywords", `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","default":"x","format":"uri","examples":["y"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		{
			"types", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"nullable":true,"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"a value", `{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":[1,2],"type":"integer"},"c":{"enum":["","x"]}}}`,
			`{"type":"object","properties":{"a":{"enum":["x"],"type":"string"},"b":{"type":"integer"},"c":{"type":"string"}}}`,
		},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
		},
		{
			"an alternative to null", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}],"description":"d"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"d","nullable":true}}}`,
		},
		{
			"required but not there", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a","b"]}`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		},
		{
			"all of", `{"type":"object","properties":{"a":{"allOf":[{"properties":{"x":{"type":"string"}}}]}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
		},
	} {
		got, err := toolschema.Fit(row.schema, toolschema.Form{Subset: true})
		if err != nil || string(got.JSON) != row.want {
			t.Errorf("%s: %s, %v, want %s", row.name, got.JSON, err, row.want)
		}
	}
	tree := `{"type":"object","properties":{"l":{"$ref":"#"},"r":{"$ref":"#"},"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	if got, err := toolschema.Fit(tree, toolschema.Form{Subset: true}); err != nil || len(got.JSON) > 200_000 {
		t.Errorf("a tree has %d bytes, %v", len(got.JSON), err)
	}
}

func TestOddNamesOfPropertiesAreOfferedInWords(t *testing.T) {
	got, err := toolschema.Fit(`{"type":"object","properties":{"filter[name]":{},"ok":{}},"required":["filter[name]","ok"]}`,
		toolschema.Form{Keys: true})
	want := `{"type":"object","properties":{"ok":{}},"required":["ok"],"description":"Further properties: [\"filter[name]\"]"}`
	if err != nil || string(got.JSON) != want || len(got.Notes) != 1 {
		t.Errorf("%s, %v, %q", got.JSON, err, got.Notes)
	}
}

func FuzzFit(f *testing.F) {
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"items":[{}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for _, form := range []toolschema.Form{{}, {Subset: true}, {Keys: true}} {
			got, err := toolschema.Fit(schema, form)
			if err != nil {
				continue
			}
			if _, err := toolschema.Fit(string(got.JSON), form); err != nil {
				t.Errorf("%s became %s: %v", schema, got.JSON, err)
			}
		}
	})
}
