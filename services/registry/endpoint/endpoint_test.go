package endpoint_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/registry/endpoint"
	"github.com/windlass-dev/windlass/services/registry/store"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestSchemasAreDerived(t *testing.T) {
	got, err := endpoint.New("https://api.test/v1/", store.Endpoint{
		Name: "get", Path: "/orders/${args.id}", Query: map[string]string{"q": "${args.q}", "k": "${args.o.key}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"additionalProperties":false,"properties":{"id":{"type":"string"},"o":{"type":"object"},"q":{"type":"string"}},` +
		`"required":["id"],"type":"object"}`
	if string(got.InputSchema) != want || got.Template.Method != http.MethodGet || got.Template.Base != "https://api.test/v1" ||
		got.Description != "GET /orders/${args.id}" {
		t.Errorf("got %+v", got)
	}
}

func TestEndpointsAreChecked(t *testing.T) {
	schema := func(text string) (m map[string]any) {
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	for want, e := range map[string]store.Endpoint{
		"name: use letters":                      {Name: "a b", Path: "/"},
		"method: use one of":                     {Name: "a", Path: "/", Method: "CONNECT"},
		"path: it begins with":                   {Name: "a", Path: "http://evil.test/"},
		"path: write the query":                  {Name: "a", Path: "/a?b=1"},
		"path: ${id} is no placeholder":          {Name: "a", Path: "/${id}"},
		"path: ${env.HOME} is not known here":    {Name: "a", Path: "/", Query: map[string]string{"a": "${env.HOME}"}},
		"body: give at most one":                 {Name: "a", Path: "/", Text: "x", Form: map[string]string{"a": "b"}},
		`headers: "Host" cannot be set here`:     {Name: "a", Path: "/", Headers: map[string]string{"Host": "evil.test"}},
		"key_header: not a valid":                {Name: "a", Path: "/", KeyHeader: "a b"},
		`input_schema: its "type" is "object"`:   {Name: "a", Path: "/", InputSchema: schema(`{"type":"array"}`)},
		`input_schema: "id" is a part of the`:    {Name: "a", Path: "/${args.id}", InputSchema: schema(`{"type":"object","properties":{"id":{}}}`)},
		"input_schema: ${args.x} is no argument": {Name: "a", Path: "/", Text: "${args.x}", InputSchema: schema(`{"type":"object"}`)},
		"output_schema: ":                        {Name: "a", Path: "/", OutputSchema: schema(`{"$ref":"http://evil.test/"}`)},
	} {
		_, err := endpoint.New("https://api.test", e)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
