package blueprint_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// object reads JSON; "" is none.
func object(t *testing.T, text string) *structpb.Struct {
	t.Helper()
	if text == "" {
		return nil
	}
	s, err := canon.ParseStruct([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const customer = `{"type":"object","required":["name"],"additionalProperties":false,"properties":{
	"name":{"type":"string","minLength":2},"level":{"type":"integer","default":3},"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},
	"address":{"type":"object","properties":{"city":{"type":"string","default":"Ulm"}}}},
	"$defs":{"line":{"type":"object","required":["sku"]}}}`

func TestParams(t *testing.T) {
	for _, row := range []struct{ name, schema, params, want, wrong string }{
		{"defaults", customer, `{"name":"Ann"}`, `{"name":"Ann","level":3}`, ""},
		{
			"defaults inside what is there", customer, `{"name":"Ann","level":1,"address":{}}`, `{"name":"Ann","level":1,"address":{"city":"Ulm"}}`,
			"",
		},
		{"one is missing", customer, ``, "", "params.name: is required"},
		{
			"wrong ones are named", customer, `{"name":"A","level":"x","lines":[{"sku":1},{}]}`, "",
			"params.level: got string, want integer; params.lines[1].sku: is required; params.name: minLength",
		},
		{"unknown ones", customer, `{"name":"Ann","nick":"x"}`, "", "params.nick: is not known"},
		{"unknown ones of an open schema", `{"type":"object"}`, `{"x":[1,null]}`, `{"x":[1,null]}`, ""},
		{"no schema, no params", "", "", "", ""},
		{"no schema, empty params", "", "{}", "", ""},
		{"no schema", "", `{"a":1}`, "", `params: agent "a" takes none`},
		{"a default that leads to itself", `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","default":{},
			"properties":{"n":{"$ref":"#/$defs/n"}}}}}`, ``, "", "params: the defaults of agent"},
		{
			"defaults that double", `{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + doublingDefaults(30) + `}}`, ``, "",
			"params: the defaults of agent",
		},
		{"a default twice", `{"type":"object","properties":{"a":{"$ref":"#/$defs/d"},"b":{"$ref":"#/$defs/d"}},
			"$defs":{"d":{"type":"object","default":{"x":{}},"properties":{"y":{"default":1}}}}}`, ``, `{"a":{"x":{},"y":1},"b":{"x":{},"y":1}}`, ""},
		{"too large", `{"type":"object"}`, `{"x":"` + strings.Repeat("y", 70000) + `"}`, "", "params: has 70008 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := blueprint.Params(t.Context(), store.Agent{ID: "a", Spec: agentspec.Spec{ParamsSchema: object(t, row.schema)}},
				object(t, row.params))
			if row.wrong != "" {
				if f := fault.As(err); f == nil || !strings.HasPrefix(f.Message, row.wrong) || f.Todo == "" {
					t.Errorf("error %v, want %s", err, row.wrong)
				}
				return
			}
			if want := object(t, row.want); err != nil || got.String() != want.String() {
				t.Errorf("%v, %v; want %v", got, err, want)
			}
		})
	}
}

// doublingSchemas is n definitions, each of which applies the next twice.
func doublingSchemas(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf(`"d%d":{"type":"object"}`, n)
}

// doublingDefaults is n objects, each with two of the next as defaults.
func doublingDefaults(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"type":"object","default":{},"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	return b.String() + fmt.Sprintf(`"d%d":{"type":"object","default":{}}`, n)
}

func TestSchemasAreChecked(t *testing.T) {
	for _, row := range []struct{ name, schema, wrong string }{
		{"good", customer, ""},
		{"no object", `{"type":"string"}`, `must have "type": "object"`},
		{"no type", `{}`, `must have "type": "object"`},
		{"a type that is none", `{"type":"object","properties":{"a":{"type":"text"}}}`, "/properties/a/type"},
		{"another document", `{"type":"object","properties":{"a":{"$ref":"https://example.com/x.json"}}}`, "not followed"},
		{"a dangling reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`, "$defs/b"},
		{
			"a default that does not fit", `{"type":"object","properties":{"a":{"type":"integer","default":"x"}}}`,
			`the default of "a" does not fit: got string, want integer`,
		},
		{
			"a default that is too large by one",
			`{"type":"object","properties":{"a":{"type":"integer","maximum":9007199254740992,"default":9007199254740993}}}`,
			`the default of "a" does not fit`,
		},
		{
			"each applies the next twice", `{"type":"object","allOf":[{"$ref":"#/$defs/d0"}],"$defs":{` + doublingSchemas(30) + `}}`,
			"over a limit",
		},
		{
			"a default beside what else is required",
			`{"type":"object","required":["b"],"properties":{"a":{"type":"integer","default":"x"},"b":{}}}`, `the default of "a"`,
		},
		{"a default by reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/n","default":1}},"$defs":{"n":{"type":"integer"}}}`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			wrong := blueprint.Checker{}.Check("agent.", agentspec.Spec{ParamsSchema: object(t, row.schema)})
			if row.wrong == "" && len(wrong) > 0 || row.wrong != "" &&
				(len(wrong) != 1 || wrong[0].Path != "agent.params_schema" || !strings.Contains(wrong[0].Message, row.wrong)) {
				t.Errorf("%v, want %s", wrong, row.wrong)
			}
		})
	}
}
