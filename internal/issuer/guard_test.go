package issuer

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/secret"
)

func TestOtherMachinesCannotReachIt(t *testing.T) {
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, err = New(Options{
		Config: testConfig(), Dir: t.TempDir(), Key: secret.New("k"), Listener: l, Log: slog.New(slog.DiscardHandler),
		Resources: testResources(t), Documents: http.DefaultClient,
	})
	if err == nil || !strings.Contains(err.Error(), "this machine only") {
		t.Errorf("New = %v", err)
	}
}

// S20 for the issuer: a page of another site reaches it neither under its own name nor by a form.
func TestS20PagesOfOthersCannotUseTheIssuer(t *testing.T) {
	w := newWorld(t, testConfig())
	port := w.url[strings.LastIndexByte(w.url, ':'):]
	for _, tc := range []struct {
		name, method, path string
		header             []string
		status             int
	}{
		{"its own name", "GET", "/keys", nil, 200},
		{"the machine's name", "GET", "/keys", []string{"Host", "localhost" + port}, 200},
		{"a name that was made to point here", "GET", "/keys", []string{"Host", "evil.example.com" + port}, 421},
		{"another port", "GET", "/keys", []string{"Host", "127.0.0.1:1"}, 421},
		{"no port", "GET", "/keys", []string{"Host", "127.0.0.1"}, 421},
		{"a name that begins like ours", "GET", "/keys", []string{"Host", "localhost.evil.example.com" + port}, 421},
		{"a form of another site", "POST", "/login", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a form of another origin", "POST", "/device", []string{"Origin", "http://evil.example.com"}, 403},
		{"a token by GET", "GET", "/token?grant_type=client_credentials", nil, 405},
		{"a secret in a URL", "POST", "/token?client_secret=" + password, nil, 405},
		{"the device flow by GET", "GET", "/device_authorization?client_id=windlass-cli", nil, 405},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := w.do(tc.method, tc.path, form("a", "b"), tc.header...)
			if tc.method == "GET" {
				res = w.do(tc.method, tc.path, nil, tc.header...)
			}
			if res.status != tc.status {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
}

func TestScriptsOfThisMachineMayCall(t *testing.T) {
	w := newWorld(t, testConfig())
	const allow = "Access-Control-Allow-Origin"
	for origin, want := range map[string]string{
		"http://localhost:6274": "http://localhost:6274", "http://127.0.0.1:1": "http://127.0.0.1:1", "https://evil.example.com": "", "null": "",
	} {
		pre := w.do(http.MethodOptions, "/token", nil, "Origin", origin, "Access-Control-Request-Method", "POST")
		got := w.do(http.MethodPost, "/token", form("grant_type", "x"), "Origin", origin)
		if pre.header.Get(allow) != want || got.header.Get(allow) != want || got.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: %v, %v", origin, pre.header, got.header)
		}
		if got := w.do(http.MethodGet, "/device", nil, "Origin", origin); got.header.Get(allow) != "" {
			t.Errorf("a page is shown to scripts of %s", origin)
		}
	}
}

func TestPages(t *testing.T) {
	w := newWorld(t, testConfig())
	login := w.do(http.MethodGet, "/authorize?"+request().Encode(), nil).header.Get("Location")
	page := w.do(http.MethodGet, login, nil)
	policy := page.header.Get("Content-Security-Policy")
	if page.status != 200 || !strings.Contains(policy, "default-src 'none'") ||
		!strings.Contains(policy, "form-action 'self' http://127.0.0.1:9;") ||
		strings.Contains(policy, "script") || page.header.Get("X-Frame-Options") != "DENY" ||
		page.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v", page.status, page.header)
	}
	for _, want := range []string{"web", "127.0.0.1:9", "windlass", "openid, profile, offline_access", "windlass user list"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("%q is not in %s", want, page.body)
		}
	}
	if strings.Contains(page.body, "<script") || strings.Contains(page.body, "style=") {
		t.Errorf("scripts or inline styles in %s", page.body)
	}
	id := strings.TrimPrefix(login, "/login?id=")
	wrong := w.do(http.MethodPost, "/login", form("id", id, "username", `"><b>`, "password", "x", "decision", "allow"))
	if wrong.status != 401 || strings.Contains(wrong.body, "<b>") || !strings.Contains(wrong.body, wrongPassword) {
		t.Errorf("%d %s", wrong.status, wrong.body)
	}
	cancelled := w.do(http.MethodPost, "/login", form("id", id, "decision", "deny"))
	if to := cancelled.header.Get("Location"); !strings.Contains(to, "error=access_denied") || !strings.Contains(to, "state=s1") {
		t.Errorf("cancelled: %d to %s", cancelled.status, to)
	}
	if res := w.do(http.MethodGet, login, nil); res.status != 404 {
		t.Errorf("after it was cancelled: %d", res.status)
	}
	if res := w.do(http.MethodGet, "/style.css", nil); res.status != 200 || !strings.HasPrefix(res.header.Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %v", res.status, res.header)
	}
}

func TestPasswordsCannotBeTried(t *testing.T) {
	w := newWorld(t, testConfig())
	for range 2 * attemptBurst { // logins count for nothing
		w.authorize(request())
	}
	login := w.do(http.MethodGet, "/authorize?"+request().Encode(), nil).header.Get("Location")
	id, last := strings.TrimPrefix(login, "/login?id="), 0
	for range attemptBurst + 1 {
		last = w.do(http.MethodPost, "/login", form("id", id, "username", "alice", "password", "x", "decision", "allow")).status
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after %d attempts: %d", attemptBurst+1, last)
	}
	if res := w.do(
		http.MethodPost,
		"/login",
		form("id", id, "username", "bob", "password", password, "decision", "allow"),
	); res.status != http.StatusSeeOther {
		t.Errorf("another user: %d %s", res.status, res.body)
	}
}

// Another account of the machine uses up its own attempts only: it cannot keep a user from logging in.
func TestAttemptsAreThoseOfAnAccount(t *testing.T) {
	a, err := newAttempts()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"alice", "nobody"} {
		for n := range 2 * attemptBurst {
			if _, ok := a.allow("1001", user, user == "alice"); ok != (n < attemptBurst) {
				t.Errorf("attempt %d for %s: %t", n, user, ok)
			}
		}
		undo, ok := a.allow("1002", user, user == "alice")
		if !ok {
			t.Fatalf("another account cannot try %s", user)
		}
		undo()
	}
}

func TestCodesOfDevicesCannotBeTried(t *testing.T) {
	for name, try := range map[string]func(*world) int{
		"shown": func(w *world) int { return w.do(http.MethodGet, "/device?user_code=BBBB-BBBB", nil).status },
		"refused": func(w *world) int {
			return w.do(http.MethodPost, "/device", form("user_code", "BBBB-BBBB", "decision", "deny")).status
		},
	} {
		w := newWorld(t, testConfig())
		for range 2 * attemptBurst { // right codes count for nothing
			w.device("bob", "openid")
		}
		last := 0
		for range attemptBurst + 1 {
			last = try(w)
		}
		if last != http.StatusTooManyRequests {
			t.Errorf("%s: after %d codes: %d", name, attemptBurst+1, last)
		}
	}
}

// The command line listens on an address: a name may be resolved to another interface (RFC 8252, 8.3).
func TestTheCommandLineIsNotRedirectedToAName(t *testing.T) {
	w := newWorld(t, testConfig())
	for uri, want := range map[string]int{"http://127.0.0.1:4000/callback": 302, "http://localhost:4000/callback": 400} {
		q := request()
		q.Set("client_id", "windlass-cli")
		q.Set("redirect_uri", uri)
		if res := w.do(http.MethodGet, "/authorize?"+q.Encode(), nil); res.status != want {
			t.Errorf("%s: %d %s", uri, res.status, res.body)
		}
	}
}
