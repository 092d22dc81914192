package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// canaries are secrets that must be nowhere but where they are for.
var canaries = map[string]string{
	"the header's token": "canary-header-7Hq2ZtVxK9", "the program's variable": "canary-variable-3Rw8LmBsJ4",
	"the model's key":         "canary-model-key-5Nf6PdGyQ1",
	"the refused model's key": "canary-refused-key-8Kc1XjUaE7",
}

// recorder keeps all that comes back over HTTP.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(&r.text, "\n%s %s: %v\n", req.Method, req.URL, resp.Header)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(resp.Body, r), resp.Body}
	return resp, nil
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

// forms are the ways in which a secret may be written down, each without its first and last bytes, which base64 mixes with others.
func forms(secret string) [][]byte {
	out := [][]byte{[]byte(secret)}
	for shift := range 3 {
		raw := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		out = append(out, []byte(raw[4:len(raw)-4]))
	}
	return out
}

func mustNotHold(t *testing.T, where string, text []byte) {
	t.Helper()
	for what, secret := range canaries {
		for _, form := range forms(secret) {
			if at := bytes.Index(text, form); at >= 0 {
				t.Errorf("%s holds %s: …%q…", where, what, text[max(0, at-120):min(len(text), at+60)])
			}
		}
	}
}

// keyed passes requests on to a model and notes the keys they came with.
func keyed(t *testing.T, model *harness.Model) (base string, keys *sync.Map) {
	t.Helper()
	u, err := url.Parse(model.URL())
	if err != nil {
		t.Fatal(err)
	}
	keys = &sync.Map{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		keys.Store(r.In.Header.Get("Authorization"), true)
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = u.Scheme, u.Host, u.Host
	}}
	s := httptest.NewServer(proxy)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL + "/v1", keys
}

// refusing is a model that says the caller's key in its error, as some do.
func refusing(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Your-Key", r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","type":"invalid_request_error","code":"invalid_api_key"}}`,
			r.Header.Get("Authorization"))
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s.URL + "/v1"
}

// echoing is a tool server whose tools say the request's headers in every way a server can.
func echoing(t *testing.T) (server *toolServer, seen *sync.Map) {
	t.Helper()
	seen = &sync.Map{}
	server = newToolServer(t, map[string]string{"status": "", "error": "", "html": "", "result": "", "refusal": ""})
	server.call = func(w http.ResponseWriter, r *http.Request, tool string) harness.JSON {
		headers := fmt.Sprint(r.Header)
		seen.Store(r.Header.Get("X-Api-Key"), true)
		switch tool {
		case "status":
			http.Error(w, headers, http.StatusForbidden)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, "<pre>%s</pre>", headers)
		case "error":
			return harness.JSON{"not": "a result", "content": headers}
		case "refusal":
			return said("you sent "+headers, true)
		default:
			return said("you sent "+headers, false)
		}
		return nil
	}
	return server, seen
}

// TestSecretsStayWhereTheyBelong lets secrets be used in every way there is, and then looks for them in all that is left behind.
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	model := harness.NewModel(t, func(int, []any) harness.Answer { return harness.Answer{Words: []string{"hello"}} })
	base, keys := keyed(t, model)
	config := filepath.Join(t.TempDir(), "windlass.yaml")
	text := fmt.Sprintf(`inference:
  default_model: good/model
  providers:
    - {name: good, kind: openai, base_url: %q, api_key: "${env:CANARY_KEY}", models: [model]}
    - {name: bad, kind: openai, base_url: %q, api_key: %q, models: [model]}
`, base, refusing(t), canaries["the refused model's key"])
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	up := harness.Up(t, t.TempDir(), []string{
		"WINDLASS_TOOL_TOKEN=" + canaries["the header's token"], "WINDLASS_TOOL_VARIABLE=" + canaries["the program's variable"],
		"CANARY_KEY=" + canaries["the model's key"], inClear,
	}, "--verbose", "--config", config)
	rec := &recorder{next: up.Client.HTTP.Transport}
	up.Client.HTTP.Transport = rec
	c := up.Client

	if got := c.Must("POST", "/v1/chat", harness.JSON{"message": "hi"}); got.Str("answer") != "hello" {
		t.Errorf("the model answers %v", got)
	}
	if _, used := keys.Load("Bearer " + canaries["the model's key"]); !used {
		t.Error("the model did not get its key")
	}
	c.Must("POST", "/v1/agents", harness.JSON{"id": "bad", "model": "bad/model"})
	session := c.Session("bad")
	failed := c.Turn(session, "hi")
	c.Watch("/v1/turns/" + failed + "/events").End()
	if got := c.Wait(failed); got.Str("status") != "failed" {
		t.Errorf("a turn with a key that is refused came to %v", got)
	}
	useTools(t, c)
	for _, path := range []string{
		"/v1/sources", "/v1/tools", "/v1/executions", "/v1/decisions", "/v1/sessions", "/v1/turns", "/v1/models",
		"/v1/sessions/" + session + "/messages", "/readyz",
	} {
		c.Must("GET", path, nil)
	}
	resp, err := c.HTTP.Get(c.Base + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Error(err)
	}
	_ = resp.Body.Close() // read to its end

	if code := up.Stop(); code != 0 {
		t.Errorf("a clean stop exits with %d", code)
	}
	if !strings.Contains(up.Log(), "level=DEBUG") {
		t.Error("the log is not at level debug")
	}
	mustNotHold(t, "the log", []byte(up.Log()))
	mustNotHold(t, "an answer of the API", rec.text.Bytes())
	lookIntoFiles(t, up.DataDir)
}

// useTools has secrets go to tool servers that give them back.
func useTools(t *testing.T, c *harness.Client) {
	t.Helper()
	server, seen := echoing(t)
	c.Must("POST", "/v1/sources", harness.JSON{
		"name": "echo", "kind": "mcp", "url": server.URL,
		"headers": harness.JSON{"X-Api-Key": "${env:WINDLASS_TOOL_TOKEN}", "Authorization": "Bearer ${env:WINDLASS_TOOL_TOKEN}"},
	})
	c.Must("POST", "/v1/agents", harness.JSON{"id": "echo", "model": "builtin/scripted", "tools": []string{"echo__*"}})
	for _, tool := range []string{"status", "error", "html", "refusal", "result"} {
		if _, _, err := c.Do(t.Context(), "POST", "/v1/tools/echo__"+tool+":invoke", harness.JSON{}); err != nil {
			t.Error(err)
		}
		turn := c.Turn(c.Session("echo"), "call:echo__"+tool)
		c.Watch("/v1/turns/" + turn + "/events").End()
		if got := c.Wait(turn); got.Str("status") != "completed" {
			t.Errorf("a turn with %s came to %v", tool, got)
		}
	}
	if _, used := seen.Load(canaries["the header's token"]); !used {
		t.Error("the tool server did not get its token")
	}
	dir := t.TempDir()
	src := c.Must("POST", "/v1/sources", harness.JSON{
		"name": "program", "kind": "mcp", "command": []string{
			"sh", "-c",
			`echo "$SECRET" > "` + dir + `/seen"; echo "my secret is $SECRET" >&2; echo "{\"secret\":\"$SECRET\"}"; exit 3`,
		},
		"env": harness.JSON{"SECRET": "${env:WINDLASS_TOOL_VARIABLE}"},
	})
	if src.Str("state") != "unreachable" {
		t.Errorf("source = %v", src)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "seen")); err != nil ||
		strings.TrimSpace(string(raw)) != canaries["the program's variable"] {
		t.Errorf("the program got %q, %v", raw, err)
	}
	for field, value := range map[string]string{"PATH": "${env:PATH}", "KEY": "${env:CANARY_KEY}"} { // only what is meant for tools
		src := c.Must("POST", "/v1/sources", harness.JSON{
			"name": strings.ToLower(field), "kind": "mcp", "command": []string{"true"},
			"env": harness.JSON{field: value},
		})
		if src.Str("state") != "invalid" || !strings.Contains(src.Str("last_error"), "may not be used") {
			t.Errorf("%s: source = %v", value, src)
		}
	}
}

// lookIntoFiles reads every file of a data directory.
func lookIntoFiles(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		mustNotHold(t, path, raw)
		return nil
	})
	if err != nil || files < 3 {
		t.Errorf("%d files in the data directory, %v", files, err)
	}
}
