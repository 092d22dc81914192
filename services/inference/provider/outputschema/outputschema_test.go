package outputschema_test

import (
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/inference/provider/outputschema"
)

func TestClosed(t *testing.T) {
	for _, row := range []struct{ name, schema, closed string }{
		{
			name: "constraints go", schema: `{"type":"object","properties":{"n":{"type":"integer","minimum":3},"s":{"type":"string","pattern":"a"}}}`,
			closed: `{"additionalProperties":false,"properties":{"n":{"type":"integer"},"s":{"type":"string"}},"type":"object"}`,
		},
		{
			name:   "parts are closed too",
			schema: `{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/$defs/p"}}},"$defs":{"p":{"properties":{"x":{"const":1}}}}}`,
			closed: `{"$defs":{"p":{"additionalProperties":false,"properties":{"x":{"const":1}}}},"additionalProperties":false,` +
				`"properties":{"l":{"items":{"$ref":"#/$defs/p"},"type":"array"}},"type":"object"}`,
		},
		{name: "free names", schema: `{"type":"object","additionalProperties":{"type":"string"}}`},
		{name: "no names", schema: `{"type":"object"}`},
		{name: "a list of lists of itself", schema: `{"type":"object","properties":{"c":{"$ref":"#"}}}`},
		{name: "no schema", schema: `[1]`},
		{name: "a reference elsewhere", schema: `{"type":"object","properties":{"c":{"$ref":"http://x/y"}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := outputschema.Closed(row.schema)
			if string(got) != row.closed || ok != (row.closed != "") {
				t.Errorf("got %s, %t", got, ok)
			}
		})
	}
	whole := `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	if got, strict := outputschema.Strict(whole); !strict {
		t.Errorf("%s is not strict", got)
	}
	for _, part := range []string{
		`{"allOf":[{"type":"string"},{"type":"string"}]}`, `{"type":"array","items":{"allOf":[{"type":"string"}]}}`,
	} {
		refused := `{"type":"object","properties":{"city":` + part + `},"required":["city"],"additionalProperties":false}`
		if got, strict := outputschema.Strict(refused); strict || string(got) != refused {
			t.Errorf("%s is strict", got)
		}
	}
	unknown := `{"type":"object","properties":{"a":{"type":"string","format":"iri"}},"required":["a"]}`
	if got, _ := outputschema.Strict(unknown); strings.Contains(string(got), "iri") {
		t.Errorf("%s has a format that is refused", got)
	}
	optional := `{"type":"object","properties":{"city":{"type":"string"}}}`
	if got, strict := outputschema.Strict(optional); strict || string(got) != optional {
		t.Errorf("%s is strict", got)
	}
}
