package openapi_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/schema"
	"github.com/windlass-dev/windlass/services/registry/openapi"
)

func repeated(n int, by string, format func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = format(i)
	}
	return strings.Join(all, by)
}

// TestS9HostileDocuments: a document is refused, or gives fewer or plainer tools.
func TestS9HostileDocuments(t *testing.T) {
	get := `{"/x":{"get":{"parameters":[{"name":"q","in":"query","schema":%s}]}}}`
	bomb := repeated(40, ",", func(i int) string {
		return fmt.Sprintf(`"S%d":{"anyOf":[{"$ref":"#/components/schemas/S%d"},{"$ref":"#/components/schemas/S%d"}]}`, i, i+1, i+1)
	})
	for _, row := range []struct {
		name, want string // want is a part of the error; empty = there are tools
		document   []byte
	}{
		{"nothing", "no OpenAPI 3 document", nil},
		{"no document", "", []byte("hello")},
		{"HTML", "", []byte("<html><body>Please log in</body></html>")},
		{"a list", "", []byte("[1]")},
		{"not UTF-8", "", []byte("{\"openapi\":\"3.1.0\",\"\xff\":1}")},
		{"Swagger 2", "Swagger 2.0", []byte(`{"swagger":"2.0","info":{"title":"t","version":"1"},"paths":{"/x":{"get":{}}}}`)},
		{"a later version", "no OpenAPI 3 document", []byte(`{"openapi":"4.0.0","info":{"title":"t","version":"1"},"paths":{"/x":{"get":{}}}}`)},
		{"no paths", "describes no paths", []byte(`{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{}}`)},
		{"a reference to a file", "", document("3.1.0", fmt.Sprintf(get, `{"$ref":"/etc/passwd"}`), `{}`)},
		{"a reference to the network", "another document", document("3.1.0", fmt.Sprintf(get, `{"$ref":"http://169.254.169.254/x.json#/a"}`), `{}`)},
		{"a dangling reference", "", document("3.1.0", fmt.Sprintf(get, `{"$ref":"#/components/schemas/None"}`), `{}`)},
		{"a circle of references", "ok", document("3.1.0", fmt.Sprintf(get, `{"$ref":"#/components/schemas/A"}`),
			`{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"$ref":"#/components/schemas/A"}}}`)},
		{"20,000 nested arrays", "", document("3.1.0", fmt.Sprintf(get, strings.Repeat(`{"items":`, 20_000)+`{}`+strings.Repeat(`}`, 20_000)), `{}`)},
		{"aliases of aliases", "", []byte("openapi: 3.1.0\nx-0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + repeated(12, "\n", func(i int) string {
			return fmt.Sprintf("x-%d: &a%d [%s]", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
		}) + "\npaths: {/x: {get: {}}}\n")},
		{"too many operations", "more than the limit of 2000", document("3.1.0", "{"+repeated(2001, ",", func(i int) string {
			return fmt.Sprintf(`"/p%d":{"get":{}}`, i)
		})+"}", `{}`)},
		{"a path without parameter", "its path has no parameter for {id}", document("3.1.0", `{"/x/{id}":{"get":{}}}`, `{}`)},
		{"a path with braces", "unmatched braces", document("3.1.0", `{"/x/{{id}}":{"get":{}}}`, `{}`)},
		{"a path that is another server", "ok", document("3.1.0", `{"//evil.test/":{"get":{}}}`, `{}`)},
		{"a doubling schema", "ok", document("3.1.0", fmt.Sprintf(get, `{"$ref":"#/components/schemas/S0"}`),
			`{"schemas":{`+bomb+`,"S40":{"type":"string"}}}`)},
		{"a pattern", "ok", document("3.1.0", fmt.Sprintf(get, `{"type":"string","pattern":"^(a+)+$"}`), `{}`)},
		{"names", "ok", document("3.1.0", `{"/a":{"get":{"operationId":"../../x"},"post":{"operationId":"../../x"}},
			"/b":{"get":{"operationId":"`+strings.Repeat("n", 300)+`"}},"/c":{"get":{"operationId":"a\u0000b"}}}`, `{}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			api, err := openapi.Read(t.Context(), row.document, openapi.Options{URL: "http://docs.test/", Limits: limits})
			runtime.ReadMemStats(&after)
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 256 {
				t.Errorf("allocated %d MiB", mib)
			}
			if row.want == "ok" {
				if err != nil || len(api.Tools) == 0 {
					t.Fatalf("got %v, skipped %v", err, api.Skipped)
				}
				check(t, api)
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 700 {
				t.Errorf("got %v, %d tools; want %q", err, len(api.Tools), row.want)
			}
		})
	}
}

// check holds what is true of every tool.
func check(t *testing.T, api openapi.API) {
	t.Helper()
	seen := map[string]bool{}
	for _, tool := range api.Tools {
		if seen[tool.Name] || tool.Name == "" || len(tool.Name) > 256 || strings.ContainsRune(tool.Name, 0) {
			t.Errorf("name %q", tool.Name)
		}
		seen[tool.Name] = true
		for _, text := range [][]byte{tool.InputSchema, tool.OutputSchema} {
			if _, err := schema.Compile(text); err != nil {
				t.Errorf("%s: %v", tool.Name, err)
			}
		}
		if !strings.HasPrefix(tool.Operation.URL, "http") {
			t.Errorf("%s: URL %s", tool.Name, tool.Operation.URL)
		}
	}
}
