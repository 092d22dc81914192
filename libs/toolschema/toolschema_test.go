package toolschema_test

import (
	"fmt"
	"regexp"
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
			`{"type":"object","properties":{"id":{"type":"string"}},` +
				`"description":"[anyOf: [{\"required\":[\"id\"]},{\"required\":[\"mail\"]}]]"}`,
		},
		{
			"alternatives that all require the same", `{"oneOf":[{"properties":{"a":{},"b":{}},"required":["a","b"]},{"required":["a"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a"],` +
				`"description":"[oneOf: [{\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"a\",\"b\"]},{\"required\":[\"a\"]}]]"}`,
		},
		{
			"one of two objects",
			`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},` +
				`"description":"[oneOf: [{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}},` +
				`{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"}}}]]"}`,
		},
		{
			"the same property in two ways", `{"anyOf":[{"properties":{"k":{"const":1}}},{"properties":{"k":{"const":2}}}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":1},{"const":2}]}},` +
				`"description":"[anyOf: [{\"properties\":{\"k\":{\"const\":1}}},{\"properties\":{\"k\":{\"const\":2}}}]]"}`,
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
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"description":"[$ref: \"#/$defs/b\"]"},` +
				`"c":{"description":"[$ref: \"http://x.test/y\"]"}},"$defs":{"a":{}}}`,
		},
		{
			"a reference at the top", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"x":{"type":"array"}}}}}`,
			`{"type":"object","properties":{"x":{"type":"array","items":{}}}}`,
		},
		{"a reference to itself", `{"$ref":"#"}`, `{"type":"object","properties":{}}`},
		{
			"conditions", `{"type":"object","properties":{"a":{}},"if":{"required":["a"]},"then":{"properties":{"b":{}}},"not":{"required":["c"]}}`,
			`{"type":"object","properties":{"a":{},"b":{}},` +
				`"description":"[not: {\"required\":[\"c\"]}; if: {\"required\":[\"a\"]}; then: {\"properties\":{\"b\":{}}}]"}`,
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
			got, err := toolschema.Fit(row.schema, &toolschema.Full)
			if err != nil || string(got.JSON) != want {
				t.Fatalf("%s, %v, want %s", got.JSON, err, want)
			}
			again, err := toolschema.Fit(string(got.JSON), &toolschema.Full)
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
		if got, err := toolschema.Fit(schema, &toolschema.Full); err == nil {
			t.Errorf("%.50s is offered as %s", schema, got.JSON)
		}
	}
}

func TestTheSubsetHasNothingElse(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{
			"keywords", `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string","default":"x","format":"uri","examples":["y"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"[default: \"x\"; examples: [\"y\"]; format: \"uri\"]"}}}`,
		},
		{
			"types", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"nullable":true,"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
		},
		{
			"a value", `{"type":"object","properties":{"a":{"const":"x"},"b":{"enum":[1,2],"type":"integer"},"c":{"enum":["","x"]}}}`,
			`{"type":"object","properties":{"a":{"enum":["x"],"type":"string"},"b":{"type":"integer","description":"[enum: [1,2]]"},` +
				`"c":{"type":"string","description":"[enum: [\"\",\"x\"]]"}}}`,
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
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"description":"[required: [\"b\"]]"}`,
		},
		{
			"all of", `{"type":"object","properties":{"a":{"allOf":[{"properties":{"x":{"type":"string"}}}]}}}`,
			`{"type":"object","properties":{"a":{"properties":{"x":{"type":"string"}},"type":"object"}}}`,
		},
	} {
		got, err := toolschema.Fit(row.schema, &toolschema.Google)
		if err != nil || string(got.JSON) != row.want {
			t.Errorf("%s: %s, %v, want %s", row.name, got.JSON, err, row.want)
		}
	}
	tree := `{"type":"object","properties":{"l":{"$ref":"#"},"r":{"$ref":"#"},"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	if got, err := toolschema.Fit(tree, &toolschema.Google); err != nil || len(got.JSON) > 200_000 {
		t.Errorf("a tree has %d bytes, %v", len(got.JSON), err)
	}
}

var strictKeys = toolschema.Form{Keys: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)}

func TestOddNamesOfPropertiesAreReplaced(t *testing.T) {
	got, err := toolschema.Fit(`{"type":"object","properties":{"filter[name]":{},"ok":{}},"required":["filter[name]","ok"]}`, &strictKeys)
	want := `{"type":"object","properties":{"p_filter_name_259d8078":{"description":"[sent as \"filter[name]\"]"},"ok":{}},` +
		`"required":["p_filter_name_259d8078","ok"]}`
	if err != nil || string(got.JSON) != want || len(got.Keys) != 1 || got.Keys["p_filter_name_259d8078"] != "filter[name]" {
		t.Errorf("%s, %v, %q", got.JSON, err, got.Keys)
	}
}

// TestWhatAFormCannotSayIsSaidInWords at the schema that it is about, and at the tool where the schema has no place for it.
func TestWhatAFormCannotSayIsSaidInWords(t *testing.T) {
	for _, row := range []struct {
		name, schema string
		form         *toolschema.Form
		want, words  string
	}{
		{
			name:   "a branch at the top",
			schema: `{"type":"object","properties":{"id":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["mail"]}]}`,
			form:   &toolschema.Full,
			want: `{"type":"object","properties":{"id":{"type":"string"}},` +
				`"description":"[anyOf: [{\"required\":[\"id\"]},{\"required\":[\"mail\"]}]]"}`,
		},
		{
			name:   "where the top has no description",
			schema: `{"type":"object","description":"Finds.","properties":{"id":{"type":"string"}},"not":{"required":["mail"]}}`,
			form:   &toolschema.Common,
			want:   `{"type":"object","properties":{"id":{"type":"string"}}}`, words: `Finds. [not: {"required":["mail"]}]`,
		},
		{
			name:   "keywords of a property",
			schema: `{"type":"object","properties":{"u":{"type":"string","description":"Where.","format":"uri","default":"x"}}}`,
			form:   &toolschema.Google,
			want:   `{"type":"object","properties":{"u":{"type":"string","description":"Where. [default: \"x\"; format: \"uri\"]"}}}`,
		},
		{
			name:   "a map",
			schema: `{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}}}}`,
			form:   &toolschema.Google,
			want:   `{"type":"object","properties":{"m":{"type":"object","description":"[additionalProperties: {\"type\":\"integer\"}]"}}}`,
		},
		{
			name:   "numbers as they are written",
			schema: `{"type":"object","properties":{"n":{"type":"integer","enum":[9007199254740993,1.10]}}}`,
			form:   &toolschema.Google,
			want:   `{"type":"object","properties":{"n":{"type":"integer","description":"[enum: [9007199254740993,1.10]]"}}}`,
		},
		{
			name:   "null",
			schema: `{"type":"object","properties":{"n":{"type":["string","null"]}}}`,
			form:   &toolschema.Common,
			want:   `{"type":"object","properties":{"n":{"type":"string","description":"[or: null]"}}}`,
		},
		{
			name:   "beside alternatives",
			schema: `{"type":"object","properties":{"v":{"description":"d","default":1,"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			form:   &toolschema.Google,
			want: `{"type":"object","properties":{"v":{"anyOf":[{"type":"string","description":"d [default: 1]"},` +
				`{"type":"integer"}]}}}`,
		},
	} {
		got, err := toolschema.Fit(row.schema, row.form)
		if err != nil || string(got.JSON) != row.want || got.Words != row.words {
			t.Errorf("%s: %s, %q, %v\nwant %s", row.name, got.JSON, got.Words, err, row.want)
		}
	}
}

func TestASchemaInsideItselfIsReplacedOnce(t *testing.T) {
	const tree = `{"type":"object","properties":{"n":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{` +
		`"v":{"type":"string"},"next":{"$ref":"#/$defs/node"}}}}}`
	got, err := toolschema.Fit(tree, &toolschema.Google)
	want := `{"type":"object","properties":{"n":{"type":"object","properties":{"v":{"type":"string"},` +
		`"next":{"type":"object","description":"[$ref: \"#/$defs/node\"]"}}}}}`
	if err != nil || string(got.JSON) != want {
		t.Errorf("%s, %v", got.JSON, err)
	}
	if got, err = toolschema.Fit(tree, &toolschema.Full); err != nil || string(got.JSON) != tree {
		t.Errorf("%s, %v", got.JSON, err)
	}
}

// TestLargeSchemasLoseTheirDetails: all of them, not those at the end.
func TestLargeSchemasLoseTheirDetails(t *testing.T) {
	deep := `{"type":"string","description":"` + strings.Repeat("long ", 100) + `"}`
	for range 6 {
		deep = `{"type":"object","properties":{"a":` + deep + `,"b":` + deep + `}}`
	}
	var properties []string
	for i := range 20 {
		properties = append(properties, fmt.Sprintf(`"p%d":%s`, i, deep))
	}
	schema := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`
	got, err := toolschema.Fit(schema, &toolschema.Full)
	if err != nil || len(got.JSON) > 64<<10 || len(got.Notes) == 0 || !strings.Contains(string(got.JSON), `"p19":{"type":"object","properties"`) {
		t.Errorf("%d bytes, %q, %v", len(got.JSON), got.Notes, err)
	}
	if got, err := toolschema.Fit(`{"type":"object","properties":{"a":{"enum":["`+strings.Repeat("x", 70_000)+`"]}}}`, &toolschema.Full); err == nil {
		t.Errorf("%d bytes are offered", len(got.JSON))
	}
}

func FuzzFit(f *testing.F) {
	f.Add(`{"anyOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"items":[{}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		for _, form := range []*toolschema.Form{&toolschema.Full, &toolschema.Google, &strictKeys, &toolschema.Common} {
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
