package openapi_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/openapi"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

var limits = openapi.Limits{MaxBytes: 16 << 20, MaxOperations: 2000}

// document wraps paths and components into a document of a version.
func document(version, paths, components string) []byte {
	return []byte(fmt.Sprintf(`{"openapi":%q,"info":{"title":"t","version":"1"},"servers":[{"url":"https://api.test/v1/"}],"paths":%s,"components":%s}`,
		version, paths, components))
}

func read(t *testing.T, data []byte, o openapi.Options) openapi.API {
	t.Helper()
	o.Limits = limits
	api, err := openapi.Read(t.Context(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// sameJSON compares JSON texts.
func sameJSON(t *testing.T, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSchemas converts the schema of a body, and reads "body" of the tool's schema.
func TestSchemas(t *testing.T) {
	for _, row := range []struct{ name, version, schema, components, want, defs string }{
		{"null in 3.0", "3.0.3", `{"type":"string","nullable":true,"enum":["a"]}`, `{}`, `{"type":["string","null"],"enum":["a",null]}`, ""},
		{
			"null of any type in 3.0", "3.0.3", `{"nullable":true,"allOf":[{"type":"string"}]}`, `{}`,
			`{"anyOf":[{"allOf":[{"type":"string"}]},{"type":"null"}]}`, "",
		},
		{
			"exclusive bounds in 3.0", "3.0.3", `{"type":"number","minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}`, `{}`,
			`{"type":"number","exclusiveMinimum":1,"maximum":9}`, "",
		},
		{"exclusive bounds in 3.1", "3.1.0", `{"type":"number","exclusiveMinimum":1.5}`, `{}`, `{"type":"number","exclusiveMinimum":1.5}`, ""},
		{"an example", "3.0.3", `{"type":"string","example":"x"}`, `{}`, `{"type":"string","examples":["x"]}`, ""},
		{
			"members only the API sends", "3.0.3",
			`{"type":"object","required":["id","name"],"properties":{"id":{"type":"string","readOnly":true},"name":{"type":"string"}}}`, `{}`,
			`{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}`, "",
		},
		{
			"keywords of 2020-12", "3.1.0",
			`{"prefixItems":[{"const":1}],"items":false,"contains":{"type":"integer"},"minContains":0,"not":{"type":"null"},"if":true,"then":{},
			"dependentRequired":{"a":["b"]},"patternProperties":{"^x":{}},"propertyNames":{"maxLength":3},"unevaluatedProperties":false}`, `{}`,
			`{"prefixItems":[{"const":1}],"items":false,"contains":{"type":"integer"},"minContains":0,"not":{"type":"null"},"if":true,"then":{},
			"dependentRequired":{"a":["b"]},"patternProperties":{"^x":{}},"propertyNames":{"maxLength":3},"unevaluatedProperties":false}`, "",
		},
		{"a pattern that Go cannot check", "3.1.0", `{"type":"string","pattern":"(?=a)b"}`, `{}`, `{"type":"string"}`, ""},
		{
			"a recursive schema", "3.1.0", `{"$ref":"#/components/schemas/Node"}`,
			`{"schemas":{"Node":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Node"}}}}}`,
			`{"$ref":"#/$defs/Node"}`, `{"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}`,
		},
		{
			"keywords beside a reference", "3.1.0", `{"$ref":"#/components/schemas/A","description":"mine","maxLength":3}`,
			`{"schemas":{"A":{"type":"string","description":"its own"}}}`,
			`{"$ref":"#/$defs/A","description":"mine","allOf":[{"maxLength":3}]}`, `{"A":{"type":"string","description":"its own"}}`,
		},
		{
			"an alias", "3.1.0", `{"$ref":"#/components/schemas/A"}`, `{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"type":"string"}}}`,
			`{"$ref":"#/$defs/A"}`, `{"A":{"type":"string"}}`,
		},
		{
			"a discriminator", "3.1.0",
			`{"oneOf":[{"$ref":"#/components/schemas/A"},{"type":"null"}],"discriminator":{"propertyName":"k"}}`,
			`{"schemas":{"A":{"type":"object","properties":{"k":{"const":"a"}}}}}`,
			`{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`, `{"A":{"type":"object","properties":{"k":{"const":"a"}}}}`,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			api := read(t, document(row.version, `{"/x":{"post":{"requestBody":{"content":{"application/json":{"schema":`+row.schema+`}}}}}}`,
				row.components), openapi.Options{})
			var got struct {
				Properties struct{ Body json.RawMessage }
				Defs       json.RawMessage `json:"$defs"`
			}
			if err := json.Unmarshal(api.Tools[0].InputSchema, &got); err != nil {
				t.Fatal(err)
			}
			sameJSON(t, got.Properties.Body, row.want)
			if row.defs != "" {
				sameJSON(t, got.Defs, row.defs)
			} else if got.Defs != nil {
				t.Errorf("$defs: %s", got.Defs)
			}
		})
	}
}

func TestOperations(t *testing.T) {
	api := read(t, document("3.1.0", `{
		"/pets/{id}":{
			"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}},{"name":"v","in":"query","schema":{"type":"string"}}],
			"get":{"operationId":"getPet","summary":"Get a pet","description":"By its id.","tags":["pets"],"deprecated":true,
				"parameters":[
					{"name":"v","in":"query","required":true,"description":"Which.","schema":{"type":"integer"}},
					{"name":"id","in":"query","schema":{}},{"name":"filter[a]","in":"query","style":"deepObject","schema":{"type":"object"}},
					{"name":"Accept","in":"header","schema":{}},{"name":"X-Key","in":"header","schema":{}},{"name":"Host","in":"header","schema":{}},
					{"name":"json","in":"query","content":{"application/json":{"schema":{"type":"object"}}}}],
				"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object","properties":{
					"id":{"type":"string","readOnly":true},"pw":{"type":"string","writeOnly":true}}}}}}}},
			"delete":{"responses":{"204":{"description":""}}}},
		"/upload":{"post":{"operationId":"upload","requestBody":{"required":true,"content":{
			"application/xml":{"schema":{}},
			"multipart/form-data":{"schema":{"type":"object","required":["file"],"properties":{
				"file":{"type":"string","format":"binary"},"note":{"type":"string"},"more":{"type":"array","items":{"type":"string","format":"binary"}}}},
				"encoding":{"note":{"contentType":"text/markdown"}}}}}}},
		"/pay":{"post":{"operationId":"pay","parameters":[{"name":"idempotency-key","in":"header","required":true,"schema":{"type":"string"}}]}},
		"/csv":{"get":{"responses":{"200":{"description":"","content":{"text/csv":{}}}}}}}`, `{}`),
		openapi.Options{Given: map[string]bool{"header:x-key": true}})
	names := []string{}
	for _, tool := range api.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "get_csv pay delete_pets_id getPet upload" || len(api.Skipped) > 0 {
		t.Fatalf("tools %s, skipped %v", got, api.Skipped)
	}
	if pay := api.Tools[1]; pay.Operation.KeyHeader != "Idempotency-Key" || len(pay.Operation.Parameters) > 0 {
		t.Errorf("an operation that takes keys: %+v", pay.Operation)
	}
	pet := api.Tools[3]
	if pet.Title != "Get a pet" || pet.Description != "Deprecated.\n\nGet a pet\n\nBy its id." || !pet.Deprecated ||
		!slices.Equal(pet.Tags, []string{"pets"}) {
		t.Errorf("pet: %+v", pet)
	}
	sameJSON(t, pet.InputSchema, `{"type":"object","additionalProperties":false,"required":["id","v"],"properties":{
		"id":{"type":"string"},"id_query":{},"v":{"type":"integer","description":"Which."},"filter_a":{"type":"object"},"json":{"type":"object"}}}`)
	sameJSON(t, pet.OutputSchema, `{"type":"object","properties":{"id":{"type":"string"}}}`)
	operation, err := json.Marshal(pet.Operation)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, operation, `{"method":"GET","url":"https://api.test/v1/pets/{id}","parameters":[
		{"argument":"id","name":"id","in":"path","style":"simple"},
		{"argument":"v","name":"v","in":"query","style":"form","explode":true},
		{"argument":"id_query","name":"id","in":"query","style":"form","explode":true},
		{"argument":"filter_a","name":"filter[a]","in":"query","style":"deepObject","explode":true},
		{"argument":"json","name":"json","in":"query"}],"answers":["application/json"]}`)
	upload := api.Tools[4].Operation.Body
	if upload.MediaType != httpcall.FormData || !upload.Parts["file"].File || !upload.Parts["more"].File ||
		upload.Parts["note"].MediaType != "text/markdown" {
		t.Errorf("upload: %+v", upload)
	}
	if accept := api.Tools[0].Operation.Accept; accept != "text/csv, */*;q=0.1" {
		t.Errorf("accept: %s", accept)
	}
}

func TestServers(t *testing.T) {
	for _, row := range []struct {
		name, servers, url, base, want string // want without scheme is an error
	}{
		{"a server", `[{"url":"https://a.test/v1"},{"url":"https://b.test"}]`, "", "", "https://a.test/v1/x"},
		{
			"variables", `[{"url":"https://{region}.a.test/{v}","variables":{"region":{"default":"eu"},"v":{"default":"v2"}}}]`, "", "",
			"https://eu.a.test/v2/x",
		},
		{"relative", `[{"url":"/v3"}]`, "https://docs.test/api/openapi.json?x=1", "", "https://docs.test/v3/x"},
		{"none", `[]`, "https://docs.test/api/openapi.json", "", "https://docs.test/x"},
		{"none, and no URL", `[]`, "", "", "does not say where the API is: set base_url"},
		{"replaced", `[{"url":"https://a.test/v1"}]`, "", "http://local.test/base/", "http://local.test/base/x"},
		{"no such variable", `[{"url":"https://{host}/"}]`, "", "", "is not valid: set base_url"},
		{"another scheme", `[{"url":"file:///etc"}]`, "", "", "does not say where the API is"},
		{"credentials in it", `[{"url":"https://u:p@a.test/"}]`, "", "", "does not say where the API is"},
	} {
		t.Run(row.name, func(t *testing.T) {
			data := []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":` + row.servers + `,"paths":{"/x":{"get":{}}}}`)
			api, err := openapi.Read(t.Context(), data, openapi.Options{URL: row.url, BaseURL: row.base, Limits: limits})
			if !strings.HasPrefix(row.want, "http") {
				if err == nil || !strings.Contains(err.Error(), row.want) {
					t.Errorf("got %v, want %s", err, row.want)
				}
				return
			}
			if err != nil || api.Tools[0].Operation.URL != row.want {
				t.Errorf("got %v, %v", api.Tools, err)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	data := document("3.1.0", `{"/a":{"get":{"operationId":"getA","tags":["x"]},"post":{"operationId":"makeA","tags":["x","y"]}},
		"/b/c":{"get":{"operationId":"getB","tags":["y"]}}}`, `{}`)
	for want, f := range map[string]openapi.Filter{
		"getA makeA getB": {},
		"makeA getB":      {Tags: []string{"y", "z"}},
		"getB":            {Paths: []string{"/b*"}},
		"getA getB":       {Names: []string{"get*"}},
		"getA":            {Names: []string{"get*"}, Tags: []string{"x"}},
	} {
		var names []string
		for _, tool := range read(t, data, openapi.Options{Filter: f}).Tools {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%+v: got %s, want %s", f, got, want)
		}
	}
	_, err := openapi.Read(t.Context(), data, openapi.Options{Filter: openapi.Filter{Tags: []string{"z"}}, Limits: limits})
	if err == nil || !strings.Contains(err.Error(), "the filter selects no operation") {
		t.Errorf("nothing selected: %v", err)
	}
}

// TestCredentialsStayAtHome: an operation whose server is not the source's own is no tool of a source with credentials.
func TestCredentialsStayAtHome(t *testing.T) {
	data := document("3.1.0", `{"/a":{"get":{}},"/b":{"get":{"servers":[{"url":"https://evil.test"}]}}}`, `{}`)
	api := read(t, data, openapi.Options{Trusted: func(address string) bool { return strings.HasPrefix(address, "https://api.test/") }})
	if len(api.Tools) != 1 || len(api.Skipped) != 1 || !strings.Contains(api.Skipped[0], "GET /b: its server https://evil.test is not where") {
		t.Errorf("tools %d, skipped %v", len(api.Tools), api.Skipped)
	}
}
