package e2e

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/test/harness"
)

// tab is a browser without scripts: it keeps cookies and says which page makes its requests.
type tab struct {
	p   *logins
	jar *cookiejar.Jar
}

func (p *logins) tab() *tab {
	p.t.Helper()
	jar, err := cookiejar.New(nil)
	harness.Must(p.t, err)
	return &tab{p, jar}
}

// do makes a request and follows nothing. An address without a host is of the gateway.
func (b *tab) do(method, address, body string, header ...string) (*http.Response, string) {
	b.p.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.p.Client.Base + address
	}
	req, err := http.NewRequestWithContext(b.p.t.Context(), method, address, strings.NewReader(body))
	harness.Must(b.p.t, err)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	client := http.Client{Jar: b.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	harness.Must(b.p.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	harness.Must(b.p.t, err)
	return resp, string(text)
}

// watch opens a stream and sends all of its text when it has ended.
func (b *tab) watch(path string) <-chan string {
	b.p.t.Helper()
	req, err := http.NewRequestWithContext(b.p.t.Context(), http.MethodGet, b.p.Client.Base+path, nil)
	harness.Must(b.p.t, err)
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	resp, err := (&http.Client{Jar: b.jar}).Do(req)
	harness.Must(b.p.t, err)
	if resp.StatusCode != http.StatusOK {
		b.p.t.Fatalf("the stream: %s", resp.Status)
	}
	out := make(chan string, 1)
	go func() {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // what there is
		out <- string(text)
	}()
	return out
}

// idIn returns the id in an answer.
func idIn(text string) string {
	_, rest, _ := strings.Cut(text, `"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// own are the headers of a script of the gateway's pages.
func own() []string {
	return []string{"Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}
}

// approve logs a user in at the issuer, and returns where it sends the browser: to the callback.
func (b *tab) approve(user, returnTo string) string {
	b.p.t.Helper()
	resp, text := b.do("GET", "/login?return_to="+url.QueryEscape(returnTo), "")
	if resp.StatusCode != http.StatusSeeOther {
		b.p.t.Fatalf("login: %d %s", resp.StatusCode, text)
	}
	at := b.p.location(resp.Header.Get("Location"))
	form := url.Values{"id": {at.Query().Get("id")}, "username": {user}, "password": {b.p.password(user)}, "decision": {"allow"}}
	answer := b.p.browser("/login", form)
	if answer.StatusCode != http.StatusSeeOther {
		b.p.t.Fatalf("the issuer answers %s", answer.Status)
	}
	return answer.Header.Get("Location")
}

// logIn logs a user in and returns the path that the browser comes back to.
func (b *tab) logIn(user, returnTo string) string {
	b.p.t.Helper()
	resp, text := b.do("GET", b.approve(user, returnTo), "")
	if resp.StatusCode != http.StatusSeeOther {
		b.p.t.Fatalf("callback: %d %s", resp.StatusCode, text)
	}
	return resp.Header.Get("Location")
}

// me is who the gateway takes the browser for, or the status.
func (b *tab) me() string {
	b.p.t.Helper()
	resp, text := b.do("GET", "/v1/me", "", own()...)
	if resp.StatusCode != http.StatusOK {
		return resp.Status
	}
	_, rest, _ := strings.Cut(text, `"subject":"`)
	subject, _, _ := strings.Cut(rest, `"`)
	return subject
}

// cookie returns the cookie of the login, nil if there is none.
func (b *tab) cookie() *http.Cookie {
	u, _ := url.Parse(b.p.Client.Base)
	for _, c := range b.jar.Cookies(u) {
		if c.Name == "windlass-"+u.Port() {
			return c
		}
	}
	return nil
}

// TestBrowserLogin: alice and bob log in and see their own conversations; logins survive the process, are refreshed, and end with a logout.
func TestBrowserLogin(t *testing.T) {
	t.Parallel()
	p := newLoginsWith(t, []string{
		"WINDLASS_IDENTITY_ISSUER_ACCESS_TOKEN_TTL=5s",
		"WINDLASS_EGRESS_PROFILE=cluster", // keeps sources out of this machine, not users of its issuer
	})
	alice, bob := p.tab(), p.tab()
	if got := alice.me(); got != "local" {
		t.Errorf("before the login: %s", got)
	}
	if got := alice.logIn("alice", "/inbox?a=b"); got != "/inbox?a=b" {
		t.Errorf("alice comes back to %s", got)
	}
	bob.logIn("bob", "/")
	resp, text := alice.do("POST", "/v1/sessions", `{"title":"of alice"}`, own()...)
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("a session of alice: %d %s", resp.StatusCode, text)
	}
	for b, want := range map[*tab]bool{alice: true, bob: false} {
		if _, text := b.do("GET", "/v1/sessions", "", own()...); strings.Contains(text, "of alice") != want {
			t.Errorf("%s sees %s", b.me(), text)
		}
	}
	p.restart() // the tokens of alice and bob have expired by then, or soon do
	var all sync.WaitGroup
	for range 8 { // at the same time, with one refresh token that can be used once
		all.Go(func() {
			if got := alice.me(); got != "dev:alice" {
				t.Errorf("after the restart: %s", got)
			}
		})
	}
	all.Wait()
	over := alice.watch("/v1/sessions/" + idIn(text) + "/events")
	first := time.Now()
	await(t, "two lifetimes of a token", func() bool {
		if got := alice.me(); got != "dev:alice" {
			t.Fatalf("while tokens expire: %s", got)
		}
		return time.Since(first) > 11*time.Second
	})
	select {
	case text := <-over:
		t.Errorf("alice's stream ended before her login: %s", text)
	default:
	}
	cookie := alice.cookie()
	resp, text = alice.do("POST", "/logout", "", own()...)
	if resp.StatusCode != http.StatusOK || !strings.Contains(text, p.issuer+"/logout?") {
		t.Errorf("logout: %d %s", resp.StatusCode, text)
	}
	if got := alice.me(); got != "local" || alice.cookie() != nil {
		t.Errorf("after the logout: %s", got)
	}
	if text := <-over; !strings.Contains(text, "event: error-status") || !strings.Contains(text, "your login has ended") {
		t.Errorf("alice's stream ends after the logout with %q", text)
	}
	thief := p.tab()
	base, _ := url.Parse(p.Client.Base)
	thief.jar.SetCookies(base, []*http.Cookie{cookie})
	if got := thief.me(); !strings.HasPrefix(got, "401") {
		t.Errorf("a cookie after the logout is %s, not even local", got)
	}
	if got := bob.me(); got != "dev:bob" {
		t.Errorf("bob after alice's logout: %s", got)
	}
	for _, query := range []string{"action=login&subject=dev:alice", "action=logout&subject=dev:alice", "action=login&subject=dev:bob"} {
		await(t, query, func() bool { return len(list(p.Client.Must("GET", "/v1/audit?"+query, nil), "records")) > 0 })
	}
	if found := list(p.Client.Must("GET", "/v1/audit?action=logout", nil), "records"); len(found) != 1 || found[0].Str("actor") != "gateway" {
		t.Errorf("logouts on record: %v", found)
	}
	if strings.Contains(p.Log(), cookie.Value) || strings.Contains(p.Log(), "eyJ") {
		t.Error("the log has a cookie or a token")
	}
	err := filepath.WalkDir(p.DataDir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), cookie.Value) {
			t.Errorf("%s has the cookie", path)
		}
		return err
	})
	harness.Must(t, err)
}

// TestS20BrowserLoginUnderAttack tries what pages and people of another browser can do to a login.
func TestS20BrowserLoginUnderAttack(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	status := func(b *tab, address string) int {
		t.Helper()
		resp, _ := b.do("GET", address, "")
		return resp.StatusCode
	}
	changed := func(address string, change func(url.Values)) string {
		u, _ := url.Parse(address)
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	t.Run("callbacks", func(t *testing.T) {
		for name, attack := range map[string]func(b *tab, callback string) int{
			"another state": func(b *tab, c string) int {
				return status(b, changed(c, func(q url.Values) { q.Set("state", "x") }))
			},
			"no state":   func(b *tab, c string) int { return status(b, changed(c, func(q url.Values) { q.Del("state") })) },
			"two states": func(b *tab, c string) int { return status(b, changed(c, func(q url.Values) { q.Add("state", "x") })) },
			"another issuer": func(b *tab, c string) int {
				return status(b, changed(c, func(q url.Values) { q.Set("iss", "https://evil.example") }))
			},
			"no code":            func(b *tab, c string) int { return status(b, changed(c, func(q url.Values) { q.Del("code") })) },
			"an invented code":   func(b *tab, c string) int { return status(b, changed(c, func(q url.Values) { q.Set("code", "x") })) },
			"in another browser": func(_ *tab, c string) int { return status(p.tab(), c) },
			"the code of another login": func(b *tab, c string) int { // login CSRF: the nonce and PKCE differ too
				theirs, _ := url.Parse(p.tab().approve("bob", "/"))
				return status(b, changed(c, func(q url.Values) { q.Set("code", theirs.Query().Get("code")) }))
			},
		} {
			b := p.tab()
			if got := attack(b, b.approve("alice", "/")); got < 400 || b.me() != "local" {
				t.Errorf("%s: %d, the browser is %s", name, got, b.me())
			}
		}
	})
	t.Run("a callback again", func(t *testing.T) {
		b := p.tab()
		callback := b.approve("alice", "/")
		if got := status(b, callback); got != http.StatusSeeOther {
			t.Fatalf("callback: %d", got)
		}
		if got := status(b, callback); got != http.StatusBadRequest || b.me() != "dev:alice" {
			t.Errorf("again: %d, the browser is %s", got, b.me())
		}
	})
	t.Run("fixation", func(t *testing.T) {
		b := p.tab()
		u, _ := url.Parse(p.Client.Base)
		b.jar.SetCookies(u, []*http.Cookie{{Name: "windlass-" + u.Port(), Value: "chosen-by-somebody-else", Path: "/"}})
		if got := b.me(); !strings.HasPrefix(got, "401") {
			t.Errorf("an invented cookie is %s", got)
		}
		b.logIn("alice", "/")
		before := b.cookie().Value
		b.logIn("bob", "/")
		if before == "chosen-by-somebody-else" || b.cookie().Value == before || b.me() != "dev:bob" {
			t.Errorf("the browser is %s", b.me())
		}
		old := p.tab()
		old.jar.SetCookies(u, []*http.Cookie{{Name: "windlass-" + u.Port(), Value: before, Path: "/"}})
		if got := old.me(); !strings.HasPrefix(got, "401") {
			t.Errorf("the login before is still %s", got)
		}
	})
	t.Run("return_to", func(t *testing.T) {
		for to, want := range map[string]string{
			"/turns/trn_1?x=1": "/turns/trn_1?x=1", "//evil.example": "/", "/..//evil.example": "/evil.example",
		} {
			if got := p.tab().logIn("alice", to); got != want {
				t.Errorf("%q leads to %q, want %q", to, got, want)
			}
		}
	})
	t.Run("requests with the cookie", func(t *testing.T) {
		b := p.tab()
		b.logIn("alice", "/")
		own := p.Client.Base
		for _, row := range []struct {
			name, method, path, site, origin, mode string
			want                                   int
		}{
			{"our page", "POST", "/v1/sessions", "same-origin", own, "cors", 201},
			{"our page in an old browser", "POST", "/v1/sessions", "", own, "", 201},
			{"a form elsewhere", "POST", "/v1/sessions", "cross-site", "https://evil.example", "navigate", 403},
			{"a form elsewhere in an old browser", "POST", "/v1/sessions", "", "https://evil.example", "", 403},
			{"a form without origin", "POST", "/v1/sessions", "", "null", "", 403},
			{"a form that hides its page", "POST", "/v1/sessions", "", "", "", 403},
			{"a page of another port", "POST", "/v1/sessions", "same-site", "http://127.0.0.1:1", "cors", 403},
			{"a script elsewhere that reads", "GET", "/v1/sessions", "cross-site", "", "no-cors", 403},
			{"a link elsewhere", "GET", "/v1/sessions", "cross-site", "", "navigate", 200},
			{"a logout elsewhere", "POST", "/logout", "cross-site", "https://evil.example", "navigate", 403},
			{"a logout as a link", "GET", "/logout", "cross-site", "", "navigate", 405},
		} {
			resp, text := b.do(row.method, row.path, `{}`, "Sec-Fetch-Site", row.site, "Origin", row.origin, "Sec-Fetch-Mode", row.mode,
				"Content-Type", "application/json")
			if resp.StatusCode != row.want || resp.Header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s: %d %s, want %d", row.name, resp.StatusCode, text, row.want)
			}
		}
		if got := b.me(); got != "dev:alice" {
			t.Errorf("after that the browser is %s", got)
		}
	})
	t.Run("the cookie", func(t *testing.T) {
		b := p.tab()
		resp, _ := b.do("GET", b.approve("alice", "/"), "")
		for _, c := range resp.Cookies() {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				t.Errorf("cookie %s", c)
			}
		}
	})
}
