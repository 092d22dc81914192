package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// petAPI is an HTTP API with an OpenAPI document.
type petAPI struct {
	*httptest.Server
	mu       sync.Mutex
	paths    string // of the document
	fetches  int    // of the whole document
	requests []string
	answer   http.HandlerFunc // of calls; nil = 200 with the request as JSON
}

const petPaths = `{
	"/pets/{id}":{"get":{"operationId":"getPet","summary":"Get a pet","tags":["pets"],
		"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer"}},{"name":"q","in":"query","schema":{"type":"string"}}]},
		"put":{"operationId":"putPet","parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"}}],
			"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"name":{"type":"string"}}}}}}}},
	"/pets":{"post":{"operationId":"addPet","deprecated":true,"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}}}},
	"/bad/{x}":{"get":{"operationId":"bad"}}}`

func newPetAPI(t *testing.T) *petAPI {
	t.Helper()
	p := &petAPI{paths: petPaths}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *petAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.URL.Path == "/openapi.json" {
		tag := fmt.Sprintf(`"%d"`, len(p.paths))
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		p.fetches++
		w.Header().Set("ETag", tag)
		fmt.Fprintf(w, `{"openapi":"3.1.0","info":{"title":"Pets","version":"7"},"servers":[{"url":"/v1"}],"paths":%s}`, p.paths)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	p.requests = append(p.requests, r.Method+" "+r.URL.String()+" "+string(body))
	if p.answer != nil {
		p.answer(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.String()})
}

func (p *petAPI) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (r *replica) createAPI(src *registryv1.Source) *registryv1.Source {
	r.w.t.Helper()
	src.Kind = "openapi"
	got, err := r.sources.CreateSource(r.w.t.Context(), &registryv1.CreateSourceRequest{Source: src})
	if err != nil {
		r.w.t.Fatal(err)
	}
	return got
}

// callAPI calls a tool with arguments, under a key of its own.
func (r *replica) callAPI(tool, arguments string) story {
	r.w.t.Helper()
	keys.Add(1)
	req := r.request(tool, fmt.Sprint("key-", keys.Load()))
	req.ArgumentsJson = arguments
	return r.call(r.w.t.Context(), req)
}

var keys atomic.Int64

func TestAnAPIBecomesTools(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	src := r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json"})
	if enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 3 || src.GetServerVersion() != "Pets 7" ||
		src.GetProtocolVersion() != "OpenAPI 3.1.0" || strings.Join(src.GetWarnings(), "|") != "GET /bad/{x}: its path has no parameter for {x}" {
		t.Fatalf("created: %v", src)
	}
	list, err := r.tools.ListTools(t.Context(), &registryv1.ListToolsRequest{Source: "pets"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		name   string
		effect turnv1.EffectClass
		tags   string
	}{
		{"pets__addPet", turnv1.EffectClass_EFFECT_CLASS_ONCE, ""},
		{"pets__getPet", turnv1.EffectClass_EFFECT_CLASS_READ, "pets"},
		{"pets__putPet", turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT, ""},
	} {
		got := list.GetTools()[i]
		if got.GetName() != want.name || got.GetEffect() != want.effect || strings.Join(got.GetTags(), " ") != want.tags ||
			got.GetDeprecated() != (want.name == "pets__addPet") {
			t.Errorf("tool %d: %v", i, got)
		}
	}

	s := r.callAPI("pets__getPet", `{"id":7,"q":"a&b"}`)
	structured := s.completed.GetResult().GetStructuredContent().GetStructValue().GetFields()
	if got := structured["path"].GetStringValue(); got != "/v1/pets/7?q=a%26b" {
		t.Errorf("called: %+v", s)
	}
	for arguments, want := range map[string]string{
		`{"id":"x"}`:       "arguments/id",
		`{"id":7,"z":1}`:   "z",
		`{"id":7,"q":[1]}`: "arguments/q",
	} {
		if s := r.callAPI("pets__getPet", arguments); s.completed.GetCode() != "invalid_tool_arguments" || !strings.Contains(s.text(), want) {
			t.Errorf("%s: %+v", arguments, s)
		}
	}
	if s := r.callAPI("pets__putPet", `{"id":"..","body":{}}`); s.completed.GetCode() != "invalid_tool_arguments" ||
		!strings.Contains(s.text(), "arguments/id: this value cannot be a part of a path") {
		t.Errorf("a path that is another one: %+v", s)
	}
}

// TestADocumentIsReadWhenItChanges: a sync asks whether the document changed, and makes tools only of a new one.
func TestADocumentIsReadWhenItChanges(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json", Pin: true})
	sync := func() *registryv1.SyncResult {
		t.Helper()
		result, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "pets"})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	for range 3 {
		if result := sync(); result.GetTotal() != 3 || len(result.GetAdded())+len(result.GetChanged())+len(result.GetRemoved()) > 0 {
			t.Errorf("unchanged: %v", result)
		}
	}
	api.set(func() {
		if api.fetches != 1 {
			t.Errorf("the document was sent %d times", api.fetches)
		}
		api.paths = strings.Replace(petPaths, `"summary":"Get a pet"`, `"summary":"Get any pet"`, 1)
		api.paths = strings.Replace(api.paths, `"/pets":`, `"/cats":`, 1)
	})
	result := sync()
	if got := strings.Join(result.GetDrifted(), " "); got != "pets__addPet pets__getPet" || len(result.GetChanged()) > 0 {
		t.Errorf("changed, and pinned: %v", result)
	}
	diff, err := r.sources.DiffSource(t.Context(), &registryv1.DiffSourceRequest{SourceId: "pets"})
	if err != nil || len(diff.GetTools()) != 2 || !strings.Contains(diff.GetTools()[1].String(), "Get any pet") {
		t.Errorf("diff: %v, %v", diff, err)
	}
	if s := r.callAPI("pets__putPet", `{"id":"1","body":{"name":"x"}}`); s.completed.GetCode() != "" {
		t.Errorf("a tool that did not change: %+v", s)
	}

	api.set(func() { api.paths = `{` })
	if _, err := r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "pets"}); err == nil {
		t.Error("a broken document is no error")
	}
	got, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "pets"})
	if err != nil || enum.Name(got.GetState()) != "invalid" || got.GetToolCount() != 3 ||
		!strings.Contains(got.GetLastError(), "cannot be read") {
		t.Errorf("a broken document: %v, %v", got, err)
	}
}

func TestADocumentCanBePartOfItsSource(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	document := `openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /a: {get: {operationId: a, tags: [x]}}
  /b: {get: {operationId: b, tags: [y]}}
`
	src := r.createAPI(&registryv1.Source{Name: "inline", Document: document})
	if enum.Name(src.GetState()) != "invalid" || !strings.Contains(src.GetLastError(), "set base_url") {
		t.Errorf("without server: %v", src)
	}
	src, err := r.sources.UpdateSource(t.Context(), &registryv1.UpdateSourceRequest{
		Source:     &registryv1.Source{Id: src.GetId(), BaseUrl: api.URL + "/base", Operations: &registryv1.OperationFilter{Tags: []string{"y"}}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"base_url", "operations"}},
	})
	if err != nil || src.GetToolCount() != 1 || src.GetDocument() != document {
		t.Fatalf("with server: %v, %v", src, err)
	}
	if s := r.callAPI("inline__b", `{}`); s.completed.GetCode() != "" {
		t.Errorf("called: %+v", s)
	}
	list, err := r.sources.ListSources(t.Context(), &registryv1.ListSourcesRequest{})
	if err != nil || list.GetSources()[0].GetDocument() != "" {
		t.Errorf("listed: %v, %v", list, err)
	}
}

// TestAnswersOfAnAPI: an API that ran and said no is not one that cannot be reached.
func TestAnswersOfAnAPI(t *testing.T) {
	w, api := newWorld(t), newPetAPI(t)
	cfg := config()
	cfg.MaxResultBytes = 1 << 20
	r := w.start(cfg)
	r.createAPI(&registryv1.Source{Name: "pets", Url: api.URL + "/openapi.json"})
	answer := func(status int, media, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if media != "" {
				w.Header().Set("Content-Type", media)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	away := http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound).ServeHTTP
	for name, row := range map[string]struct {
		answer  http.HandlerFunc
		isError bool
		code    string
		text    string
	}{
		"JSON":           {answer(200, "application/json; charset=utf-8", `{"a":1}`), false, "", `{"a":1}`},
		"text":           {answer(200, "text/plain", "wéll"), false, "", "wéll"},
		"no content":     {answer(204, "", ""), false, "", "The API answered 204 No Content without content."},
		"not found":      {answer(404, "application/problem+json", `{"title":"no such pet"}`), true, "", "The API answered 404 Not Found:\n{\"title\":\"no such pet\"}"},
		"an error":       {answer(500, "text/html", "<h1>oops</h1>"), true, "", "The API answered 500 Internal Server Error:\n<h1>oops</h1>"},
		"no JSON at all": {answer(200, "application/json", "<html>"), false, "", "<html>"},
		"deep JSON":      {answer(200, "application/json", strings.Repeat("[", 3000)), false, "", strings.Repeat("[", 3000)},
		"an overload":    {answer(503, "text/plain", "later"), true, "tool_unavailable", "answered 503 Service Unavailable: later"},
		"a redirect":     {away, true, "", "redirects are not followed: set base_url"},
		"too much":       {answer(200, "text/plain", strings.Repeat("x", 2<<20)), true, "too_large", "its result is too large"},
		"gzip bomb":      {bomb, true, "too_large", "its result is too large"},
	} {
		api.set(func() { api.answer = row.answer })
		s := r.callAPI("pets__getPet", `{"id":7}`)
		if s.completed.GetResult().GetIsError() != row.isError || s.completed.GetCode() != row.code || !strings.Contains(s.text(), row.text) {
			t.Errorf("%s: code %q, %v: %.300s", name, s.completed.GetCode(), s.completed.GetResult().GetIsError(), s.text())
		}
	}
	api.set(func() { api.answer = answer(200, "image/png", "\x89PNG") })
	s := r.callAPI("pets__getPet", `{"id":7}`)
	if blob := s.completed.GetResult().GetContent()[0].GetBlob(); blob.GetMediaType() != "image/png" || string(blob.GetData()) != "\x89PNG" {
		t.Errorf("an image: %+v", s)
	}
	later := time.Now().Add(2 * time.Second)
	api.set(func() {
		api.answer = func(w http.ResponseWriter, r *http.Request) {
			if time.Now().Before(later) {
				w.Header().Set("Retry-After", "2")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			answer(200, "text/plain", "now")(w, r)
		}
	})
	if s := r.callAPI("pets__getPet", `{"id":7}`); s.text() != "now" {
		t.Errorf("an API that says when to come back: %+v", s)
	}
}

func TestSourcesOfAPIsAreChecked(t *testing.T) {
	r := newWorld(t).start(config())
	auth := func(kind string, change func(*registryv1.SourceAuth)) *registryv1.Source {
		a := &registryv1.SourceAuth{Kind: kind, Secret: "${env:X}"}
		change(a)
		return &registryv1.Source{Name: "x", Kind: "openapi", Url: "http://x/", Auth: a}
	}
	for want, src := range map[string]*registryv1.Source{
		"give exactly one of url":                {Name: "x", Kind: "openapi"},
		"an API has no command":                  {Name: "x", Kind: "openapi", Url: "http://x/", Command: []string{"y"}},
		"source.base_url: the URL must start":    {Name: "x", Kind: "openapi", Url: "http://x/", BaseUrl: "ftp://x"},
		"into the environment of the MCP bridge": {Name: "x", Kind: "mcp", Url: "http://x/", Auth: &registryv1.SourceAuth{Kind: "bearer"}},
		"source.auth: auth belongs to a url": {
			Name: "x", Kind: "mcp", Command: []string{"y"}, Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:X}"},
		},
		"source.auth: a built-in source has no auth": {
			Name: "windlass", Kind: "builtin", Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:X}"},
		},
		"source.auth.in: an MCP server takes its key in a header": {
			Name: "x", Kind: "mcp", Url: "http://x/", Auth: &registryv1.SourceAuth{Kind: "api_key", In: "query", Name: "k", Secret: "${env:X}"},
		},
		"source.base_url: it is required with auth": {Name: "x", Kind: "openapi", Document: "{}", Headers: map[string]string{"X": "y"}},
		"must not be written here; put it into the environment of the registry": auth("bearer", func(a *registryv1.SourceAuth) {
			a.Secret = "hunter2"
		}),
		"source.auth.in: api_key requires it": auth("api_key", func(a *registryv1.SourceAuth) { a.Name = "X-Key" }),
		"source.auth.in: use header or query": auth("api_key", func(a *registryv1.SourceAuth) { a.Name, a.In = "X-Key", "body" }),
		"source.auth.username: bearer has no username": auth("bearer", func(a *registryv1.SourceAuth) {
			a.Username = "u"
		}),
		"source.auth.token_url: oauth2_client_credentials requires it": auth("oauth2_client_credentials", func(a *registryv1.SourceAuth) {
			a.ClientId = "c"
		}),
	} {
		_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: src, ValidateOnly: true})
		f, text := fault.From(err), ""
		if f != nil {
			for _, field := range f.Fields {
				text += field.Path + ": " + field.Message + "\n"
			}
		}
		if err == nil || !strings.Contains(text, want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// TestEndpointsBecomeTools: an API without a document is described by hand.
func TestEndpointsBecomeTools(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	w, api := newWorld(t), newPetAPI(t)
	r := w.start(config())
	_, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "pets", Kind: "http", BaseUrl: api.URL, Endpoints: []*registryv1.Endpoint{{Name: "a", Path: "/"}, {Name: "b", Path: "/${x}"}},
	}})
	if f := fault.From(err); f == nil || len(f.Fields) != 1 || f.Fields[0].Path != "source.endpoints[1].path" {
		t.Errorf("a wrong endpoint: %v", err)
	}
	body := args(t, map[string]any{"pet": map[string]any{"name": "${args.name}"}, "by": "windlass"})
	body.Fields["owner"] = canon.Value(json.Number("9007199254740993")) // a constant, beyond the integers that a double holds
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "pets", Kind: "http", BaseUrl: api.URL + "/v2", Auth: &registryv1.SourceAuth{Kind: "bearer", Secret: "${env:WINDLASS_TOOL_SECRET}"},
		Endpoints: []*registryv1.Endpoint{
			{Name: "get_pet", Path: "/pets/${args.id}", Query: map[string]string{"verbose": "${args.verbose}"}, Tags: []string{"pets"}},
			{Name: "add_pet", Method: "post", Path: "/pets", Body: body},
		},
	}})
	if err != nil || enum.Name(src.GetState()) != "ready" || src.GetToolCount() != 2 || len(src.GetEndpoints()) != 2 {
		t.Fatalf("created: %v, %v", src, err)
	}
	if owner := canon.Number(src.GetEndpoints()[1].GetBody().GetFields()["owner"]); owner != "9007199254740993" {
		t.Errorf("the source has the constant %s", owner)
	}
	for _, call := range [][2]string{
		{"pets__get_pet", `{"id":"a b"}`}, {"pets__add_pet", `{"name":"Tom \"the cat\""}`},
	} {
		if s := r.callAPI(call[0], call[1]); s.completed.GetCode() != "" || s.completed.GetResult().GetIsError() {
			t.Errorf("%s: %s", call, s.text())
		}
	}
	api.set(func() {
		got := strings.Join(api.requests, "\n")
		if got != "GET /v2/pets/a%20b \n"+`POST /v2/pets {"by":"windlass","owner":9007199254740993,"pet":{"name":"Tom \"the cat\""}}` {
			t.Errorf("sent:\n%s", got)
		}
	})
	if s := r.callAPI("pets__get_pet", `{}`); s.completed.GetCode() != "invalid_tool_arguments" {
		t.Errorf("without the path's argument: %s", s.text())
	}
}
