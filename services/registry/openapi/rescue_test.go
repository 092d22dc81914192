package openapi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/registry/openapi"
)

// TestOperationsThatCannotBeRead: one mistake, wherever it is, leaves out the operations that need what is wrong, and says why.
func TestOperationsThatCannotBeRead(t *testing.T) {
	const good = `"/good":{"get":{"operationId":"good","responses":{"200":{"description":"ok","content":{"application/json":
		{"schema":{"$ref":"#/components/schemas/Pet"}}}}}}}`
	schema := func(s string) string {
		return `{"operationId":"bad","requestBody":{"content":{"application/json":{"schema":` + s + `}}}}`
	}
	const pet = `"Pet":{"type":"object","properties":{"$ref":{"type":"string"},"example":{"type":"string"}}}`
	for _, row := range []struct {
		name, bad, schemas string // the operation, and what is beside Pet
		want               string // of the warning; empty = the operation can be called
	}{
		{"a dangling reference", schema(`{"$ref":"#/components/schemas/None"}`), ``, `its reference "#/components/schemas/None" leads nowhere`},
		{
			"one that is dangling further away", schema(`{"properties":{"a":{"items":{"$ref":"#/components/schemas/A"}}}}`),
			`"A":{"allOf":[{"$ref":"#/components/schemas/B"}]},"B":{"$ref":"#/components/schemas/None"}`, "leads nowhere",
		},
		{"a property of nothing", schema(`{"$ref":"#/components/schemas/Pet/properties/none"}`), ``, "leads nowhere"},
		{"another document", schema(`{"$ref":"other.json#/A"}`), ``, "another document"},
		{"another kind of component", `{"operationId":"bad","parameters":[{"$ref":"#/components/schemas/Pet"}]}`, ``, "GET /bad: "},
		{"a wrong type", `{"operationId":"bad","parameters":"none"}`, ``, "GET /bad: "},
		{"a wrong component", schema(`{"$ref":"#/components/schemas/A"}`), `"A":{"type":{"a":1}}`, "GET /bad: "},
		{"a parameter that is not there", `{"operationId":"bad","parameters":[{"$ref":"#/components/parameters/P"}]}`, ``, "leads nowhere"},
		{"a response that is not there", `{"operationId":"bad","responses":{"200":{"$ref":"#/components/responses/R"}}}`, ``, "leads nowhere"},

		{"a component that is not used", schema(`{"type":"string"}`), `"A":{"$ref":"#/components/schemas/None"}`, ""},
		{"a callback", `{"operationId":"bad","callbacks":{"c":{"$ref":"#/components/callbacks/C"}}}`, ``, ""},
		{
			"a link", `{"operationId":"bad","responses":{"200":{"description":"ok","links":{"l":{"$ref":"#/components/links/L"}}}}}`, ``, "",
		},
		{
			"a named example", `{"operationId":"bad","requestBody":{"content":{"application/json":{"schema":{"type":"object"},
				"examples":{"e":{"$ref":"#/components/examples/E"}}}}}}`, ``, "",
		},
		{
			"an example that is not a reference",
			schema(`{"type":"object","example":{"$ref":"#/none"},"default":{"a":[{"$ref":"#/none"}]}}`), ``, "",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			schemas := pet
			if row.schemas != "" {
				schemas += "," + row.schemas
			}
			data := document("3.1.0", `{`+good+`,"/bad":{"get":`+row.bad+`}}`, `{"schemas":{`+schemas+`}}`)
			api := read(t, data, openapi.Options{})
			check(t, api)
			var names []string
			for _, tool := range api.Tools {
				names = append(names, tool.Name)
				if strings.Contains(string(tool.InputSchema), "#/none") {
					t.Errorf("%s: %s", tool.Name, tool.InputSchema)
				}
			}
			want := "bad good"
			if row.want != "" {
				want = "good"
			}
			if strings.Join(names, " ") != want || !strings.Contains(strings.Join(api.Skipped, "|"), row.want) ||
				(row.want == "") != (len(api.Skipped) == 0) {
				t.Errorf("tools %v, skipped %q", names, api.Skipped)
			}
			if filtered, err := openapi.Read(t.Context(), data, openapi.Options{
				Limits: limits, Filter: openapi.Filter{Names: []string{"good"}},
			}); err != nil || len(filtered.Tools) != 1 || len(filtered.Skipped) != 0 {
				t.Errorf("of the good one: %v, %v", filtered, err)
			}
		})
	}
}

// TestAYAMLDocumentWithAMistake has numbers as keys, which YAML allows.
func TestAYAMLDocumentWithAMistake(t *testing.T) {
	api := read(t, []byte("\xef\xbb\xbf"+`openapi: 3.0.3
info: {title: t, version: 2026-01-02}
servers: [{url: https://api.test/}]
paths:
  /good: {get: {operationId: good, responses: {200: {description: ok}}}}
  /bad: {get: {operationId: bad, parameters: [{$ref: '#/components/parameters/None'}]}}
`), openapi.Options{})
	if len(api.Tools) != 1 || api.Tools[0].Name != "good" || len(api.Skipped) != 1 || api.Version != "2026-01-02" {
		t.Errorf("%+v", api)
	}
}

// TestALargeDocumentWithAMistake reads a public description in which one reference is wrong.
func TestALargeDocumentWithAMistake(t *testing.T) {
	data, err := os.ReadFile("../../../../shared/openapi/discord-3.1.json")
	if err != nil {
		t.Skip("there are no API descriptions in ../shared/openapi")
	}
	whole := read(t, data, openapi.Options{})
	const ref = `"$ref": "#/components/schemas/MessageReferenceRequest"`
	broken := strings.Replace(string(data), ref, `"$ref": "#/components/schemas/None"`, 1)
	if broken == string(data) {
		t.Fatal("the document has changed")
	}
	api := read(t, []byte(broken), openapi.Options{})
	if len(api.Tools)+len(api.Skipped) != len(whole.Tools)+len(whole.Skipped) || len(api.Skipped) == 0 || len(api.Tools) < len(whole.Tools)/2 {
		t.Errorf("%d of %d tools, skipped %q", len(api.Tools), len(whole.Tools), api.Skipped)
	}
	t.Logf("%d of %d tools", len(api.Tools), len(whole.Tools))
}
