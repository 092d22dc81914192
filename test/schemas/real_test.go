// Package schemas_test offers the schemas of real tools to every kind of model API.
package schemas_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/toolschema"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/anthropic"
	"github.com/windlass-dev/windlass/services/inference/provider/bedrock"
	"github.com/windlass-dev/windlass/services/inference/provider/gemini"
	"github.com/windlass-dev/windlass/services/inference/provider/ollama"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
	"github.com/windlass-dev/windlass/services/inference/provider/responses"
	"github.com/windlass-dev/windlass/services/inference/provider/vendortest"
	"github.com/windlass-dev/windlass/services/registry/openapi"
)

// apis are the kinds of providers, and the models that have rules of their own.
var apis = map[string]struct {
	kind  provider.Kind
	model string
	rules *vendortest.Rules
}{
	"OpenAI":           {openai.Kind{}, "gpt-x", vendortest.OpenAI},
	"Gemini at OpenAI": {openai.Kind{}, "google/gemini-x", vendortest.Google},
	"responses":        {responses.Kind{}, "gpt-x", vendortest.OpenAI},
	"Anthropic":        {anthropic.Kind{}, "claude-x", vendortest.Anthropic},
	"Gemini":           {gemini.Kind{}, "gemini-3-pro", vendortest.Google},
	"Bedrock's Claude": {bedrock.Kind{}, "eu.anthropic.claude-x", vendortest.Anthropic},
	"Bedrock's Nova":   {bedrock.Kind{}, "amazon.nova-pro-v1:0", vendortest.Nova},
	"Ollama":           {ollama.Kind{}, "qwen3", vendortest.Ollama},
}

// enough is the number of schemas that there must be where all their documents are.
const enough = 2000

// most is the number of schemas that are tried, for the time that it takes. By day each API is offered one in shares, drawn by the day.
const most, shares = 2500, 4

// TestRealSchemas offers the tools of public API descriptions, the types in them, and the schemas of JSON Schema's own test suite. Each API
// takes what it is offered; what it is not offered takes no object.
func TestRealSchemas(t *testing.T) {
	all := realTools(t)
	for name, api := range apis {
		t.Run(name, func(t *testing.T) {
			tools, left := drawn(t, all, name), 0
			for batch := range slices.Chunk(tools, 100) {
				body := request(t, api.kind, api.model, batch)
				if why := api.rules.Tools(api.kind.Traits().Name, body); why != "" {
					t.Fatalf("refused: %.800s", why)
				}
				offered := map[string]bool{}
				for _, o := range vendortest.Offered(api.kind.Traits().Name, body) {
					offered[o.Name] = true
				}
				for _, tool := range batch {
					if offered[tool.GetName()] {
						continue
					}
					left++
					if _, err := toolschema.Fit(tool.GetInputSchemaJson(), &toolschema.Full); err == nil {
						t.Errorf("%s is not offered: %.300s", tool.GetName(), tool.GetInputSchemaJson())
					}
				}
			}
			t.Logf("%d tools, %d of them are not offered", len(tools), left)
		})
	}
}

// drawn returns the share of a day of the tools that are offered to an API; by night (make nightly) it is all of them.
func drawn(t *testing.T, all []*inferencev1.ToolDefinition, api string) (out []*inferencev1.ToolDefinition) {
	t.Helper()
	first, ok := testmain.Share(api, shares)
	if !ok {
		return all
	}
	for i := first; i < len(all); i += shares {
		out = append(out, all[i])
	}
	return out
}

// request returns the request that a provider sends to offer tools.
func request(t *testing.T, kind provider.Kind, model string, tools []*inferencev1.ToolDefinition) map[string]any {
	t.Helper()
	sent := &capture{}
	p, err := kind.New(provider.Config{Identity: provider.Identity{Name: "test"}, HTTP: &http.Client{Transport: sent}, Region: "eu-west-1"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Generate(t.Context(), provider.Request{Model: model, Tools: tools, Messages: []*turnv1.Message{{
		Role: turnv1.Role_ROLE_USER, Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: "hello"}}},
	}}}, func(provider.Delta) error { return nil })
	if err == nil || sent.body == nil {
		t.Fatalf("nothing was sent: %v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(sent.body))
	dec.UseNumber()
	var body map[string]any
	if err := dec.Decode(&body); err != nil {
		t.Fatal(err)
	}
	return body
}

// capture is a transport that keeps the last request and answers none.
type capture struct{ body []byte }

// RoundTrip implements http.RoundTripper.
func (c *capture) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if strings.HasSuffix(r.URL.Path, "/api/show") {
		return nil, errors.New("not known")
	}
	c.body = body
	return nil, errors.Join(errors.New("not sent"), err)
}

// realTools returns each schema once, as a tool.
func realTools(t *testing.T) []*inferencev1.ToolDefinition {
	t.Helper()
	found := map[string]bool{}
	var out []*inferencev1.ToolDefinition
	add := func(description string, schema []byte) {
		if text := string(schema); !found[text] && len(text) > 2 && len(out) < most {
			found[text] = true
			out = append(out, &inferencev1.ToolDefinition{
				Name: fmt.Sprintf("real__%d", len(out)), Description: description, InputSchemaJson: text,
			})
		}
	}
	listed := listedTools(t, add)
	suites := suiteSchemas(t, add)
	documents := apiTools(t, add)
	switch {
	case len(out) == 0:
		t.Skip("there are no schemas in ../shared and in the module cache")
	case documents && suites && len(out) < enough:
		t.Errorf("%d schemas, want %d", len(out), enough)
	}
	t.Logf("%d schemas (documents %v, suite %v, lists %v)", len(out), documents, suites, listed)
	return out
}

// apiTools adds the operations of the API descriptions beside the project, their results, and the types of their arguments.
func apiTools(t *testing.T, add func(string, []byte)) bool {
	t.Helper()
	files, err := filepath.Glob("../../../shared/openapi/*-3.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		api, err := openapi.Read(t.Context(), data, openapi.Options{
			BaseURL: "http://127.0.0.1:9", Limits: openapi.Limits{MaxBytes: 16 << 20, MaxOperations: 2000},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range api.Tools {
			add(tool.Description, tool.InputSchema)
			if len(tool.OutputSchema) < 16<<10 {
				add(tool.Description, tool.OutputSchema)
			}
			types(tool.InputSchema, func(inner []byte) { add(tool.Description, inner) })
			types(tool.OutputSchema, func(inner []byte) { add(tool.Description, inner) })
		}
	}
	return len(files) > 0
}

// types calls add with the objects within a schema that refer to nothing outside.
func types(schema []byte, add func([]byte)) {
	var root map[string]json.RawMessage
	if json.Unmarshal(schema, &root) != nil {
		return
	}
	var visit func(raw json.RawMessage, depth int)
	visit = func(raw json.RawMessage, depth int) {
		var o map[string]json.RawMessage
		if json.Unmarshal(raw, &o) != nil || depth > 8 {
			return
		}
		if depth > 0 && o["properties"] != nil && !bytes.Contains(raw, []byte(`"$ref"`)) {
			add(raw)
		}
		for _, key := range []string{"properties", "$defs"} {
			var named map[string]json.RawMessage
			if json.Unmarshal(o[key], &named) == nil && (key != "$defs" || depth == 0) {
				for _, inner := range named {
					visit(inner, depth+1)
				}
			}
		}
		visit(o["items"], depth+1)
	}
	visit(schema, 0)
}

// suiteSchemas adds the schemas of JSON Schema's test suite, which a module that we use has: each as the whole, and as a property.
func suiteSchemas(t *testing.T, add func(string, []byte)) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(build.Default.GOPATH,
		"pkg/mod/github.com/google/jsonschema-go@*/jsonschema/testdata/draft2020-12/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []struct {
			Description string
			Schema      json.RawMessage
		}
		if err := json.Unmarshal(data, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			add(g.Description, g.Schema)
			add(g.Description, fmt.Appendf(nil, `{"type":"object","properties":{"v":%s},"required":["v"]}`, g.Schema))
		}
	}
	return len(files) > 0
}

// listedTools adds lists of tools as MCP servers send them, if there are such beside the project.
func listedTools(t *testing.T, add func(string, []byte)) bool {
	t.Helper()
	files, err := filepath.Glob("../../../shared/mcptools/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct {
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, tool := range list {
			add(tool.Description, tool.InputSchema)
		}
	}
	return len(files) > 0
}
