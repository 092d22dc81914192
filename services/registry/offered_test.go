package registry_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// TestASourceSaysWhatIsNotOffered: schemas that models or MCP clients cannot take are named with the tool.
func TestASourceSaysWhatIsNotOffered(t *testing.T) {
	w := newWorld(t)
	r := w.start(config())
	odd := func(name, schema string) *mcpbridgev1.Tool {
		return &mcpbridgev1.Tool{Name: name, InputSchemaJson: []byte(schema), RawJson: []byte(`{"name":"` + name + `"}`)}
	}
	w.bridge.set(func() {
		w.bridge.tools["odd"] = []*mcpbridgev1.Tool{
			tool("plain", "read"), odd("either", `{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`),
			odd("list", `{"type":"array"}`),
		}
	})
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "odd", Kind: "mcp", Url: "http://127.0.0.1:9/mcp",
	}})
	if err != nil {
		t.Fatal(err)
	}
	warnings := strings.Join(src.GetWarnings(), "\n")
	for _, want := range []string{
		"either: models are offered a simpler input schema: ", "list: models are not offered this tool: its input schema ",
		`the tool "list" is not listed at /mcp, since clients could not read the schema of its arguments: `,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("%q is not in the warnings:\n%s", want, warnings)
		}
	}
	if strings.Contains(warnings, "plain") {
		t.Errorf("the plain tool is warned of:\n%s", warnings)
	}
}

// TestTheCharsetOfADocument: a document is read in the charset that its server names, whatever it says that it is.
func TestTheCharsetOfADocument(t *testing.T) {
	const document = "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nservers: [{url: 'http://127.0.0.1:9'}]\n" +
		"paths:\n  /a: {get: {operationId: a, summary: \"caf\xe9\"}}\n"
	media := ""
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", media)
		_, _ = rw.Write([]byte(document))
	}))
	t.Cleanup(srv.Close)
	r := newWorld(t).start(config())
	for name, row := range map[string]struct{ media, want string }{
		"named":  {"application/yaml; charset=ISO-8859-1", "café"},
		"binary": {"application/octet-stream", ""},
	} {
		media = row.media
		src := r.createAPI(&registryv1.Source{Name: name, Url: srv.URL})
		if row.want == "" {
			if src.GetToolCount() != 0 || !strings.Contains(src.GetLastError(), "it is not text") {
				t.Errorf("%s: %v", name, src)
			}
			continue
		}
		got, err := r.tools.GetTool(t.Context(), &registryv1.GetToolRequest{Name: name + "__a"})
		if err != nil || !strings.Contains(got.GetDescription(), row.want) {
			t.Errorf("%s: %v, %v; source %v", name, got, err, src)
		}
	}
}
