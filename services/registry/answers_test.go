package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/enum"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// saying is an API that answers each call in the same way, and counts them.
type saying struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	header http.Header
	body   string
	calls  int
	// description answers requests for what describes the API; it reports whether it did.
	description func(w http.ResponseWriter, r *http.Request, body string) bool
}

func newSaying(t *testing.T, description func(w http.ResponseWriter, r *http.Request, body string) bool) *saying {
	t.Helper()
	s := &saying{description: description}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *saying) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || s.description(w, r, string(request)) {
		return
	}
	s.calls++
	maps.Copy(w.Header(), s.header)
	w.WriteHeader(s.status)
	_, _ = io.WriteString(w, s.body)
}

// say sets the answer to the calls that follow, and returns a function that counts them.
func (s *saying) say(status int, media, body string) (calls func() int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.header, s.body, s.calls = status, http.Header{}, body, 0
	if s.header["Content-Type"] = nil; media != "" { // nil: none is added either
		s.header.Set("Content-Type", media)
	}
	return func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.calls
	}
}

// describe changes what describes the API.
func (s *saying) describe(description func(w http.ResponseWriter, r *http.Request, body string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.description = description
}

const portal = `<!doctype html><html><body>Please log in</body></html>`

// introspection describes a query and a mutation of a GraphQL API.
func introspection(w http.ResponseWriter, _ *http.Request, body string) bool {
	if !strings.Contains(body, "__schema") {
		return false
	}
	field := func(name, kind string) string {
		return fmt.Sprintf(`{"name":%q,"args":[],"type":{"kind":%q,"name":"String","ofType":null}}`, name, kind)
	}
	fmt.Fprintf(w, `{"data":{"__schema":{"queryType":{"name":"Query"},"mutationType":{"name":"Mutation"},"types":[
		{"kind":"OBJECT","name":"Query","fields":[%s]},
		{"kind":"OBJECT","name":"Mutation","fields":[%s,{"name":"must","args":[],"type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"String"}}}]},
		{"kind":"SCALAR","name":"String"}]}}}`, field("get", "SCALAR"), field("add", "SCALAR"))
	return true
}

// TestWhatIsNoAnswerOfAGraphQLAPI: a response without data and errors is not GraphQL's, whatever its status: something else sent it.
func TestWhatIsNoAnswerOfAGraphQLAPI(t *testing.T) {
	api := newSaying(t, introspection)
	r := newCached(t, newWorld(t)).replica()
	src, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "shop", Kind: "graphql", Url: api.URL,
	}})
	if err != nil || src.GetToolCount() != 3 {
		t.Fatalf("created: %v, %v", src, err)
	}
	for _, row := range []struct {
		status      int
		media, body string
	}{
		{200, "text/html", portal},
		{200, "application/json", `{"data":{"get`},
		{200, "application/json", `{}`},
		{200, "application/json", `{"data":null}`},
		{200, "application/json", `{"data":{}}`},
		{200, "application/json", `{"data":{"other":"x"}}`},
		{200, "application/json", `{"data":["get"]}`},
		{200, "application/json", `{"data":"get"}`},
		{200, "application/json", `{"DATA":{"get":"x","add":"x","must":"x"}}`},
		{200, "application/json", `{"errors":[]}`},
		{200, "application/json", `{"errors":"log in"}`},
		{200, "application/json", `{"message":"log in"}`},
		{200, "application/json", `[]`},
		{200, "application/json", `null`},
		{200, "application/json", `"ok"`},
		{200, "application/json", ``},
		{200, "application/json", `{"data":{"get":"x","add":"x","must":"x"}} {}`},
		{200, "application/json; charset=utf-16", `{"data":{"get":"x","add":"x","must":"x"}}`},
		{201, "text/plain", "created"},
		{204, "", ""},
	} {
		calls := api.say(row.status, row.media, row.body)
		for _, tool := range []string{"shop__add", "shop__must"} {
			before := calls()
			s := r.callAPI(tool, `{}`)
			if s.completed.GetCode() != "outcome_unknown" || !s.completed.GetUnresolved() || calls() != before+1 {
				t.Errorf("%s: %d %s: %s %q after %d calls", tool, row.status, row.body, s.completed.GetCode(), s.text(), calls()-before)
			}
		}
		before := calls()
		s := r.callAPI("shop__get", `{}`)
		if s.completed.GetCode() != "tool_unavailable" || calls() != before+3 || !strings.Contains(s.text(), "no response of GraphQL") &&
			!strings.Contains(s.text(), "cannot be read") {
			t.Errorf("get: %d %s: %s %q after %d calls", row.status, row.body, s.completed.GetCode(), s.text(), calls()-before)
		}
	}
	for _, row := range []struct {
		status     int
		tool, body string
		text       string
		isError    bool
	}{
		{200, "get", `{"data":{"get":"x"}}`, `"x"`, false}, // and nothing that was no answer is kept
		{200, "add", `{"data":{"add":null},"extensions":{}}`, "null", false},
		{200, "must", `{"data":null,"errors":[{"message":"sold out"}]}`, "The API answered with errors:\n" + `[{"message":"sold out"}]`, true},
		{200, "add", "\xef\xbb\xbf" + `{"data":{"add":"x"},"errors":null}`, `"x"`, false},
		{400, "add", `{"errors":[{"message":"no such field"}]}`, "The API answered with errors:\n" + `[{"message":"no such field"}]`, true},
		{401, "add", portal, "The API answered 401 Unauthorized:\n" + portal, true},
	} {
		api.say(row.status, "application/json", row.body)
		s := r.callAPI("shop__"+row.tool, `{}`)
		if s.text() != row.text || s.completed.GetCode() != "" || s.completed.GetResult().GetIsError() != row.isError {
			t.Errorf("%s: %s: %s %q", row.tool, row.body, s.completed.GetCode(), s.text())
		}
	}
}

// TestAGraphQLAPIBehindALoginPage: that a page answers does not mean that the API is there.
func TestAGraphQLAPIBehindALoginPage(t *testing.T) {
	api := newSaying(t, introspection)
	r := newWorld(t).start(config())
	if _, err := r.sources.CreateSource(t.Context(), &registryv1.CreateSourceRequest{Source: &registryv1.Source{
		Name: "shop", Kind: "graphql", Url: api.URL,
	}}); err != nil {
		t.Fatal(err)
	}
	sync := func() string {
		t.Helper()
		_, _ = r.sources.SyncSource(t.Context(), &registryv1.SyncSourceRequest{SourceId: "shop"}) // the source says how it went
		src, err := r.sources.GetSource(t.Context(), &registryv1.GetSourceRequest{SourceId: "shop"})
		if err != nil {
			t.Fatal(err)
		}
		return enum.Name(src.GetState()) + " " + src.GetLastError()
	}
	api.describe(func(http.ResponseWriter, *http.Request, string) bool { return false })
	api.say(200, "text/html", portal)
	if got := sync(); !strings.HasPrefix(got, "invalid ") || !strings.Contains(got, "GraphQL") {
		t.Errorf("behind a login page: %s", got)
	}
	api.say(200, "application/json", `{"data":{"__typename":"Query"}}`)
	api.describe(introspection)
	if got := sync(); got != "ready " {
		t.Errorf("after the login: %s", got)
	}
}

// described is an OpenAPI document whose operations have the given content of a response.
func described(content string) func(w http.ResponseWriter, r *http.Request, body string) bool {
	return func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.URL.Path != "/openapi.json" {
			return false
		}
		responses := `{"200":{"description":"ok","content":` + content + `},"204":{"description":"nothing"},"404":{"description":"none"}}`
		fmt.Fprintf(w, `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"servers":[{"url":"/v1"}],"paths":{"/x":{
			"get":{"operationId":"get","responses":%s},"post":{"operationId":"add","responses":%s}}}}`, responses, responses)
		return true
	}
}

// TestWhatIsNoAnswerOfAnAPI: a successful response of another media type than all that are described is not the API's.
func TestWhatIsNoAnswerOfAnAPI(t *testing.T) {
	w := newCached(t, newWorld(t))
	r := w.replica()
	for i, row := range []struct {
		declared    string
		status      int
		media, body string
		answer      bool
	}{
		{"application/json", 200, "text/html", portal, false},
		{"application/json", 200, "", portal, false},
		{"application/json", 200, "application/json", portal, false},
		{"application/json", 200, "application/json", `{"id":`, false},
		{"application/json", 200, "text/plain", "Please log in", false},
		{"application/json; charset=utf-8", 201, "image/png", "\x89PNG", false},
		{"application/vnd.api+json", 200, "text/html; charset=x", portal, false},
		{"application/xml", 200, "text/html", portal, false},
		{"text/csv", 200, "text/html", portal, false},
		{"application/pdf", 200, "application/xhtml+xml", portal, false},
		{"application/octet-stream", 200, "text/html", portal, false},
		{"text/plain", 200, "text/html", portal, false},
		{"application/json", 511, "text/html", portal, false},

		{"application/json", 200, "text/plain", `{"id":1}`, true},
		{"application/json", 200, "application/hal+json", `{"id":1}`, true},
		{"application/json", 200, "", `[1]`, true},
		{"application/json", 204, "", "", true},
		{"application/json", 200, "application/json", "", true},
		{"application/json", 404, "text/html", portal, true},
		{"text/html", 200, "text/html; charset=utf-8", portal, true},
		{"text/*", 200, "text/html", portal, true},
		{"*/*", 200, "text/html", portal, true},
		{"application/xml", 200, "text/xml", `<a/>`, true},
		{"text/csv", 200, "application/csv", `a,b`, true},
		{"image/png", 200, "image/jpeg", "\xff\xd8", true},
		{"application/octet-stream", 200, "application/pdf", "%PDF", true},
		{"application/pdf", 200, "application/octet-stream", "%PDF", true},
		{"text/plain", 200, "application/json", `{"id":1}`, true},
	} {
		content, err := json.Marshal(map[string]any{row.declared: map[string]any{"schema": map[string]any{}}})
		if err != nil {
			t.Fatal(err)
		}
		api := newSaying(t, described(string(content)))
		name := fmt.Sprint("api", i)
		r.createAPI(&registryv1.Source{Name: name, Url: api.URL + "/openapi.json"})
		api.say(row.status, row.media, row.body)
		got := []string{r.callAPI(name+"__get", `{}`).completed.GetCode(), r.callAPI(name+"__add", `{}`).completed.GetCode()}
		want := []string{"tool_unavailable", "outcome_unknown"}
		if row.answer {
			want = []string{"", ""}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %d %s %q: got %q, want %q", row.declared, row.status, row.media, row.body, got, want)
		}
		if !row.answer {
			api.say(200, row.declared, `{"id":2}`)
			if s := r.callAPI(name+"__get", `{}`); s.completed.GetCode() != "" || s.completed.GetCached() {
				t.Errorf("%s: after %q: %+v", row.declared, row.body, s)
			}
		}
	}
}

// TestAnEndpointWithAnOutputSchemaAnswersJSON: its owner has said what an answer is.
func TestAnEndpointWithAnOutputSchemaAnswersJSON(t *testing.T) {
	api := newSaying(t, func(http.ResponseWriter, *http.Request, string) bool { return false })
	r := newWorld(t).start(config())
	output := args(t, map[string]any{"type": "object"})
	r.createHTTP(&registryv1.Source{Name: "shop", BaseUrl: api.URL, Endpoints: []*registryv1.Endpoint{
		{Name: "get", Path: "/x", OutputSchema: output},
		{Name: "add", Path: "/x", Method: "POST", OutputSchema: output},
		{Name: "page", Path: "/x"},
	}})
	api.say(200, "text/html", portal)
	for tool, want := range map[string]string{"get": "tool_unavailable", "add": "outcome_unknown", "page": ""} {
		if s := r.callAPI("shop__"+tool, `{}`); s.completed.GetCode() != want {
			t.Errorf("%s: %s %q", tool, s.completed.GetCode(), s.text())
		}
	}
}

// TestTheCharsetOfAnAnswer: text is read in its encoding, and what cannot be read is never shown as if it were the answer.
func TestTheCharsetOfAnAnswer(t *testing.T) {
	api := newSaying(t, func(http.ResponseWriter, *http.Request, string) bool { return false })
	r := newWorld(t).start(config())
	r.createHTTP(&registryv1.Source{Name: "old", BaseUrl: api.URL, Endpoints: []*registryv1.Endpoint{{Name: "get", Path: "/x"}}})
	for _, row := range []struct{ media, body, want string }{
		{"text/plain; charset=windows-1251", "\xef\xf0\xe8\xe2\xe5\xf2", "привет"},
		{`text/plain; charset="KOI8-R"`, "\xd0\xd2\xc9\xd7\xc5\xd4", "привет"},
		{"text/plain; charset=ISO-8859-1", "caf\xe9", "café"},
		{"text/csv;charset=GBK", "\xc4\xe3,\xba\xc3", "你,好"},
		{"text/plain; charset=Shift_JIS", "\x93\xfa\x96\x7b", "日本"},
		{"text/plain; charset=euc-kr", "\xc7\xd1", "한"},
		{"text/plain; charset=IBM437", "caf\x82", "café"},
		{"text/plain; charset=utf-16", "\xff\xfeh\x00i\x00", "hi"},
		{"text/plain; charset=utf-16", "\x00h\x00i", "hi"},
		{"text/plain", "\xfe\xff\x00h\x00i", "hi"},
		{"text/plain; charset=utf-8", "\xef\xbb\xbfhi", "hi"},
		{"text/plain; charset=wrong", "plain", "plain"},
		{"application/json; charset=windows-1252", "{\"a\":\"\xe9\"}", `{"a":"é"}`},
		{"application/json", "\xef\xbb\xbf{\"a\":1}", `{"a":1}`},
		{"application/xml", "<?xml version='1.0' encoding='windows-1251'?><a>\xe9</a>", "<?xml version='1.0' encoding='windows-1251'?><a>й</a>"},
		{"text/html", "<meta charset=\"windows-1251\"><p>\xe9", "<meta charset=\"windows-1251\"><p>й"},
		{"text/html", "<p>caf\xe9", "<p>café"},
		{"text/html", "<p>café", "<p>café"},
	} {
		api.say(200, row.media, row.body)
		s := r.callAPI("old__get", `{}`)
		if s.text() != row.want || s.completed.GetResult().GetIsError() {
			t.Errorf("%s: %q: got %q", row.media, row.body, s.text())
		}
		if strings.HasPrefix(row.want, "{") && s.completed.GetResult().GetStructuredContent() == nil {
			t.Errorf("%s: no structured content", row.media)
		}
		api.say(400, row.media, row.body)
		if s := r.callAPI("old__get", `{}`); s.text() != "The API answered 400 Bad Request:\n"+row.want {
			t.Errorf("%s: an error: %q", row.media, s.text())
		}
	}
	for media, body := range map[string]string{
		"text/plain":                     "well\xff",
		"text/plain; charset=utf-8":      "caf\xe9",
		"text/plain; charset=x-none":     "caf\xe9",
		"text/plain; charset=gbk":        "\xff\xff",
		"application/json":               "{\"a\":\"\xe9\"}",
		"text/plain; charset=utf-32":     "h\x00\x00\x00\xff",
		"text/plain; charset=hz-gb-2312": "~{<:Ky2;VdCd#~}",
		"multipart/mixed; boundary=x":    "--x\r\n\r\n\xff\r\n--x--",
	} {
		api.say(200, media, body)
		parts := r.callAPI("old__get", `{}`).completed.GetResult().GetContent()
		if len(parts) != 2 || string(parts[1].GetBlob().GetData()) != body || strings.Contains(parts[0].GetText(), "\uFFFD") {
			t.Errorf("%s: %q: got %v", media, body, parts)
		}
		api.say(400, media, body)
		if s := r.callAPI("old__get", `{}`); strings.Contains(s.text(), "\uFFFD") || !strings.Contains(s.text(), "bytes that cannot be read") {
			t.Errorf("%s: an error: %q", media, s.text())
		}
	}
	api.say(200, "application/json", "\x1b\x07\x00")
	api.header.Set("Content-Encoding", "br")
	parts := r.callAPI("old__get", `{}`).completed.GetResult().GetContent()
	if len(parts) != 2 || string(parts[1].GetBlob().GetData()) != "\x1b\x07\x00" ||
		!strings.Contains(parts[0].GetText(), `Content-Encoding "br"`) {
		t.Errorf("a coding that is not known: %v", parts)
	}
}
