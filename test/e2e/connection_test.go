package e2e

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// crm is an API whose users log in at an OpenID provider: that of windlass up, which knows nothing of it.
type crm struct {
	*httptest.Server
	mu     sync.Mutex
	tokens map[string]bool
}

func newCRM(t *testing.T) *crm {
	t.Helper()
	c := &crm{tokens: map[string]bool{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		c.mu.Lock()
		c.tokens[token] = true
		c.mu.Unlock()
		var claims struct {
			Subject  string `json:"sub"`
			Audience any    `json:"aud"`
		}
		raw, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err == nil {
			err = json.Unmarshal(raw, &claims)
		}
		fmt.Fprintf(w, "you are %s for %v (%v); your token is %s", claims.Subject, claims.Audience, err, token)
	}))
	t.Cleanup(c.Close)
	return c
}

// newConnecting is a windlass up whose issuer has a client for the CRM.
func newConnecting(t *testing.T) *logins {
	t.Helper()
	file := filepath.Join(t.TempDir(), "windlass.yaml")
	const text = `
identity:
  issuer:
    clients:
      - id: crm-client
        public: true
        grants: [authorization_code, refresh_token]
        redirects: ["http://127.0.0.1/connect/callback"]
        scopes: [openid, profile, offline_access]
        audiences: ["https://crm.example.com"]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newLogins(t, "--config", file)
}

var connectURL = regexp.MustCompile(`http://\S+/connect/\S+`)

// web is a browser of its own.
type web struct {
	t *testing.T
	http.Client
}

func newWeb(t *testing.T) *web {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &web{t: t}
	w.Jar = jar
	w.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return w
}

// get opens an address, and returns the status, the page and where it leads.
func (w *web) get(address string) (int, string, *url.URL) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.do(req)
}

// post sends a form as a page of that address does.
func (w *web) post(address string, form url.Values, header ...string) (int, string, *url.URL) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return w.do(req)
}

func (w *web) do(req *http.Request) (int, string, *url.URL) {
	w.t.Helper()
	res, err := w.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	to, _ := res.Location()
	return res.StatusCode, string(text), to
}

var consentField = regexp.MustCompile(`name="consent" value="([^"]+)"`)

// connectCommand runs windlass connection create of a user until it shows the address. The function that it returns waits for its end.
func (p *logins) connectCommand(user, source string) (address string, wait func() string) {
	p.t.Helper()
	cmd := p.windlass(user, "connection", "create", source)
	var out strings.Builder
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	lines := bufio.NewScanner(errs)
	for address == "" && lines.Scan() {
		address = connectURL.FindString(lines.Text())
	}
	if address == "" {
		p.t.Fatalf("no address: %v", cmd.Wait())
	}
	return address, func() string {
		rest, _ := io.ReadAll(errs)
		if err := cmd.Wait(); err != nil {
			p.t.Errorf("connection create: %v\n%s", err, rest)
		}
		return out.String()
	}
}

// consent goes from the consent page to the authorization server, and returns where that is.
func (w *web) consent(address string, contains ...string) *url.URL {
	w.t.Helper()
	status, page, _ := w.get(address)
	field := consentField.FindStringSubmatch(page)
	if status != http.StatusOK || field == nil {
		w.t.Fatalf("consent page: %d %s", status, page)
	}
	for _, text := range contains {
		if !strings.Contains(page, text) {
			w.t.Errorf("the consent page lacks %q: %s", text, page)
		}
	}
	status, page, to := w.post(address, url.Values{"consent": {field[1]}, "decision": {"allow"}})
	if status != http.StatusSeeOther || to == nil {
		w.t.Fatalf("after consent: %d %s", status, page)
	}
	return to
}

// connect connects a source for a user, who logs in at the issuer, and consents to scopes.
func (p *logins) connect(user, source string, scopes ...string) {
	p.t.Helper()
	p.connectTo(user, "dev:"+user, user, source, scopes...)
}

// connectTo connects a source for a subject of the mesh with an account at the issuer.
func (p *logins) connectTo(user, subject, account, source string, scopes ...string) {
	p.t.Helper()
	address, wait := p.connectCommand(user, source)
	w := newWeb(p.t)
	to := w.consent(address, append(scopes, subject, source)...)
	if got := to.Query().Get("scope"); got != strings.Join(scopes, " ") {
		p.t.Errorf("the scopes %q are requested, want %q", got, scopes)
	}
	_, _, login := w.get(to.String())
	_, _, back := w.post(login.String(), url.Values{
		"id": {login.Query().Get("id")}, "username": {account}, "password": {p.password(account)}, "decision": {"allow"},
	}, "Origin", p.issuer)
	status, page, done := w.get(back.String())
	if status != http.StatusSeeOther || done.Path != "/connect/done" {
		p.t.Fatalf("callback: %d %s", status, page)
	}
	if out := wait(); !strings.Contains(out, "connected to "+source) {
		p.t.Errorf("the command says %q", out)
	}
}

// TestUsersConnectASource: an API wants each user's own login. No call is made for a user before they connect it, a turn waits for it and
// goes on by itself, and each call carries the token of its own user.
func TestUsersConnectASource(t *testing.T) {
	t.Parallel()
	p, api := newConnecting(t), newCRM(t)
	p.logIn("alice")
	p.logIn("bob")
	p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "crm", "kind": "http", "base_url": api.URL, "endpoints": []harness.JSON{{"name": "whoami", "path": "/me"}},
		"auth": harness.JSON{
			"kind": "oauth2_authorization_code", "issuer": p.issuer, "client_id": "crm-client",
			"scopes": []string{"openid", "offline_access"}, "resource": "https://crm.example.com",
		},
	})
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"crm__*"}})
	invoke := func(user string) (string, error) {
		out, err := p.windlass(user, "tool", "invoke", "crm__whoami", "--fresh").CombinedOutput()
		return string(out), err
	}
	out, err := invoke("alice")
	if err == nil || !strings.Contains(out, "you have not connected source") || !strings.Contains(out, p.Client.Base+"/connect?source=crm") {
		t.Errorf("before alice connected it: %v %s", err, out)
	}
	p.connect("alice", "crm", "openid", "offline_access")
	if out, err := invoke("alice"); err != nil || !strings.Contains(out, "you are alice for [https://crm.example.com]") ||
		!strings.Contains(out, "your token is ***") {
		t.Errorf("alice: %v %s", err, out)
	}
	if out, err := invoke("bob"); err == nil || !strings.Contains(out, "you have not connected source") {
		t.Errorf("bob, with alice's login: %v %s", err, out)
	}

	// bob's turn waits until he connects it, and goes on by itself.
	waits, _ := p.windlass("bob", "chat", "--agent", "clerk", "call:crm__whoami {}").CombinedOutput() // which ends, as nobody can be asked
	turn := regexp.MustCompile(`trn_\w+`).FindString(string(waits))
	if !strings.Contains(string(waits), "connect crm at "+p.Client.Base+"/connect?source=crm") {
		t.Errorf("bob's turn: %s", waits)
	}
	p.connect("bob", "crm", "openid", "offline_access")
	if out := p.says("bob", "turn", "watch", turn); !strings.Contains(out, "you are bob for") {
		t.Errorf("bob's turn: %s", out)
	}
	if out := p.says("alice", "connection", "list"); !strings.Contains(out, "crm") || strings.Contains(out, "bob") {
		t.Errorf("alice's connections: %s", out)
	}
	p.restart()
	if out, err := invoke("alice"); err != nil || !strings.Contains(out, "you are alice") {
		t.Errorf("alice after a restart: %v %s", err, out)
	}
	if out := p.says("alice", "connection", "delete", "crm"); !strings.Contains(out, "its tokens are revoked") {
		t.Errorf("deleted: %s", out)
	}
	seldom := time.NewTicker(500 * time.Millisecond) // each question is a process
	defer seldom.Stop()
	until(t, "alice's login is not used any more", func() bool {
		<-seldom.C
		out, err := invoke("alice")
		return err != nil && strings.Contains(out, "you have not connected source")
	})
	if out, err := invoke("bob"); err != nil || !strings.Contains(out, "you are bob") {
		t.Errorf("bob after alice deleted hers: %v %s", err, out)
	}
	trail := p.says("admin", "audit", "list", "--action", "policy.connections.*")
	for _, action := range []string{"policy.connections.create", "policy.connections.delete"} {
		if !strings.Contains(trail, action) || !strings.Contains(trail, "done") || !strings.Contains(trail, "dev:alice") {
			t.Errorf("the audit trail has no %s of alice:\n%s", action, trail)
		}
	}
	p.leaks(api)
}

// leaks looks for the tokens that the API saw, in all that windlass up wrote.
func (p *logins) leaks(api *crm) {
	p.t.Helper()
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.tokens) < 2 {
		p.t.Errorf("the API saw %d tokens", len(api.tokens))
	}
	err := filepath.WalkDir(p.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for token := range api.tokens {
			if strings.Contains(string(text), token) {
				p.t.Errorf("%s has a token in clear", path)
			}
		}
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	for token := range api.tokens {
		if strings.Contains(p.Log(), token) {
			p.t.Error("the log has a token in clear")
		}
	}
}

// TestS23ConnectPages: what browsers can do wrong, or are made to do, on the way to a connection.
func TestS23ConnectPages(t *testing.T) {
	t.Parallel()
	p, api := newConnecting(t), newCRM(t)
	p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "crm", "kind": "http", "base_url": api.URL, "endpoints": []harness.JSON{{"name": "whoami", "path": "/me"}},
		"auth": harness.JSON{"kind": "oauth2_authorization_code", "issuer": p.issuer, "client_id": "crm-client", "scopes": []string{"openid"}},
	})
	begin := func() string {
		return p.Client.Must("POST", "/v1/connections:begin", harness.JSON{"source": "crm"}).Str("connect_url")
	}
	login := func(w *web, to *url.URL) *url.URL {
		_, _, page := w.get(to.String())
		_, _, back := w.post(page.String(), url.Values{
			"id": {page.Query().Get("id")}, "username": {"alice"}, "password": {p.password("alice")}, "decision": {"allow"},
		}, "Origin", p.issuer)
		return back
	}
	refused := func(status int, page string) {
		t.Helper()
		if status < 400 || !strings.Contains(page, "Not connected") {
			t.Errorf("not refused: %d %s", status, page)
		}
	}
	t.Run("a page of another site posts the form", func(t *testing.T) {
		w, address := newWeb(t), begin()
		_, page, _ := w.get(address)
		form := url.Values{"consent": {consentField.FindStringSubmatch(page)[1]}, "decision": {"allow"}}
		status, page, _ := w.post(address, form, "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example.com")
		refused(status, page)
	})
	t.Run("the form comes without the page's cookie", func(t *testing.T) {
		address := begin()
		_, page, _ := newWeb(t).get(address)
		status, page, _ := newWeb(t).post(address, url.Values{"consent": {consentField.FindStringSubmatch(page)[1]}, "decision": {"allow"}})
		refused(status, page)
	})
	t.Run("the response comes in another browser, and then in the right one", func(t *testing.T) {
		w := newWeb(t)
		back := login(w, w.consent(begin()))
		status, page, _ := newWeb(t).get(back.String())
		refused(status, page)
		if status, page, to := w.get(back.String()); status != http.StatusSeeOther || to.Path != "/connect/done" {
			t.Errorf("in the right one: %d %s", status, page)
		}
		status, page, _ = w.get(back.String())
		refused(status, page)
	})
	t.Run("the callback is elsewhere", func(t *testing.T) {
		w := newWeb(t)
		back := login(w, w.consent(begin()))
		for _, path := range []string{"/connect/callback/", "/connect/callback/x", "/connect//callback", "/Connect/callback"} {
			other := *back
			other.Path = path
			if status, _, _ := w.get(other.String()); status != http.StatusNotFound {
				t.Errorf("%s: %d", path, status)
			}
		}
	})
	t.Run("the address for everybody begins an attempt for the browser's user", func(t *testing.T) {
		w := newWeb(t)
		status, page, to := w.get(p.Client.Base + "/connect?source=crm&user=local")
		if status != http.StatusSeeOther || !strings.HasPrefix(to.String(), p.Client.Base+"/connect/") {
			t.Errorf("local: %d %s", status, page)
		}
		if status, page, _ := w.get(p.Client.Base + "/connect?source=crm&user=dev%3Aalice"); status != http.StatusForbidden ||
			!strings.Contains(page, "windlass connection create crm") {
			t.Errorf("for alice: %d %s", status, page)
		}
	})
}
