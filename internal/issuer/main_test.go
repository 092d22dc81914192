package issuer

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// world is an issuer under test, with a clock that the test moves, and a browser.
type world struct {
	*Issuer
	t   *testing.T
	dir string
	web *http.Client
	// documents fetches documents about clients.
	documents *http.Client

	mu  sync.Mutex
	now time.Time
}

// password of all users of the tests, and secret of all confidential clients.
const password = "correct-horse"

func testConfig() account.Config {
	cfg := config.Default[account.Config]()
	pw := secret.New(password)
	cfg.Users = []account.User{
		{Name: "alice", Password: pw, Roles: []string{"user"}, Claims: map[string]string{"department": "finance"}},
		{Name: "bob", Password: pw, Roles: []string{"user"}, Claims: map[string]string{"department": "engineering"}},
	}
	scopes := []string{"openid", "profile", "offline_access"}
	cfg.Clients = []account.Client{
		{
			ID: "web", Secret: pw, Grants: []string{account.Code, account.Refresh}, Redirects: []string{"http://127.0.0.1:9/cb"}, Scopes: scopes,
			Audiences: []string{"windlass", "https://mcp.example.com"},
		},
		{ID: "robot", Secret: pw, Grants: []string{account.ClientCredentials}, Scopes: []string{"profile"}, Audiences: []string{"windlass"}},
		{
			ID:                "mesh",
			Secret:            pw,
			Grants:            []string{account.Exchange},
			Audiences:         []string{"windlass"},
			ExchangeAudiences: []string{"billing", "orders"},
		},
		{ID: "billing", Secret: pw, Grants: []string{account.Exchange}, Audiences: []string{"billing"}, ExchangeAudiences: []string{"ledger"}},
	}
	return cfg
}

// mesh is the gateway's URL.
const mesh = "http://127.0.0.1:8080"

func testResources(t *testing.T) Resources {
	t.Helper()
	known, err := protected.New(protected.Config{URL: mesh, MCP: true})
	if err != nil {
		t.Fatal(err)
	}
	return Resources{Default: mesh + "/mcp", Known: known.Known}
}

func newWorld(t *testing.T, cfg account.Config) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), now: time.Now(), documents: &http.Client{}}
	w.web = &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(w.web.CloseIdleConnections)
	w.start(cfg, "127.0.0.1:0")
	return w
}

// start starts the issuer, again if it ran before.
func (w *world) start(cfg account.Config, addr string) {
	w.t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(w.t.Context(), "tcp", addr)
	if err != nil {
		w.t.Fatal(err)
	}
	i, err := New(Options{
		Config: cfg, Dir: w.dir, Key: secret.New("0123456789abcdef0123456789abcdef"), Listener: l, Log: slog.New(slog.DiscardHandler),
		Resources: testResources(w.t), Documents: w.documents, Now: w.clock,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- i.Serve() }()
	w.Issuer = i
	w.t.Cleanup(func() { w.stop(i, done) })
}

func (w *world) stop(i *Issuer, done chan error) {
	if err := i.Close(w.t.Context()); err != nil && w.t.Context().Err() == nil {
		w.t.Error(err)
	}
	if err := <-done; err != nil {
		w.t.Error(err)
	}
}

// restart stops the issuer and starts it on the same address and directory.
func (w *world) restart(cfg account.Config) {
	w.t.Helper()
	if err := w.Close(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	w.web.CloseIdleConnections() // a POST over one that the server has closed is not sent again
	w.start(cfg, strings.TrimPrefix(w.url, "http://"))
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// response is what a request got.
type response struct {
	status int
	header http.Header
	body   string
}

// json returns the body as an object.
func (r response) json(t *testing.T) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(r.body), &m); err != nil {
		t.Fatalf("%d %s: %v", r.status, r.body, err)
	}
	return m
}

// text returns one member of the body.
func (r response) text(t *testing.T, name string) string {
	t.Helper()
	s, _ := r.json(t)[name].(string)
	return s
}

func (w *world) do(method, path string, body url.Values, header ...string) response {
	w.t.Helper()
	var in io.Reader
	if body != nil {
		in = strings.NewReader(body.Encode())
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, in)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			req.Host = header[i+1]
		}
	}
	return w.send(req)
}

func (w *world) send(req *http.Request) response {
	w.t.Helper()
	res, err := w.web.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return response{res.StatusCode, res.Header, string(raw)}
}

// form returns parameters.
func form(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

// with returns parameters with others in their place; "" removes one.
func with(v url.Values, pairs ...string) url.Values {
	out := url.Values{}
	maps.Copy(out, v)
	for i := 0; i < len(pairs); i += 2 {
		if out.Del(pairs[i]); pairs[i+1] != "" {
			out.Set(pairs[i], pairs[i+1])
		}
	}
	return out
}

// token makes a request to the token endpoint.
func (w *world) token(v url.Values) response {
	w.t.Helper()
	return w.do(http.MethodPost, "/token", v)
}

// parts decodes header and claims of a token without verifying it.
func parts(t *testing.T, token string) (header, claims map[string]any) {
	t.Helper()
	p := strings.Split(token, ".")
	if len(p) != 3 {
		t.Fatalf("%q is no JWT", token)
	}
	for i, into := range []*map[string]any{&header, &claims} {
		raw, err := base64.RawURLEncoding.DecodeString(p[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return header, claims
}

// device logs a user in as windlass-cli, and returns the response with the tokens.
func (w *world) device(user, scope string) response {
	w.t.Helper()
	asked := w.do(http.MethodPost, "/device_authorization", form("client_id", "windlass-cli", "scope", scope))
	done := w.do(
		http.MethodPost,
		"/device",
		form("user_code", asked.text(w.t, "user_code"), "username", user, "password", password, "decision", "allow"),
	)
	if done.status != http.StatusOK {
		w.t.Fatalf("%d %s", done.status, done.body)
	}
	return w.token(form("grant_type", account.Device, "client_id", "windlass-cli", "device_code", asked.text(w.t, "device_code")))
}
