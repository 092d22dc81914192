package exchange_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/policy/grant/exchange"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// idp is a scripted token endpoint.
type idp struct {
	*httptest.Server
	mu       sync.Mutex
	requests []url.Values
	// answer answers a request with a status and a body.
	answer func(form url.Values) (int, any)
	hold   chan struct{}
	// revoke is the revocation endpoint in the metadata, and revoked the requests to it.
	revoke  string
	revoked []url.Values
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	i := &idp{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": i.URL, "token_endpoint": i.URL + "/token", "revocation_endpoint": i.revoke})
	})
	mux.HandleFunc("POST /revoke", func(_ http.ResponseWriter, r *http.Request) {
		if id, password, _ := r.BasicAuth(); r.ParseForm() != nil || id != "mesh" || password != "s%2B" {
			t.Errorf("client %q with %q", id, password)
		}
		i.revoked = append(i.revoked, r.PostForm)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		id, password, _ := r.BasicAuth()
		if err := r.ParseForm(); err != nil || id != "mesh" || password != "s%2B" {
			t.Errorf("client %q with %q, %v", id, password, err)
		}
		i.mu.Lock()
		i.requests = append(i.requests, maps.Clone(r.PostForm))
		answer, hold := i.answer, i.hold
		i.mu.Unlock()
		if hold != nil {
			<-hold
		}
		status, body := answer(r.PostForm)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func (i *idp) set(answer func(url.Values) (int, any)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *idp) asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.requests)
}

// now is the time of the tests.
var now = time.Unix(1_800_000_000, 0)

func jwt(claims map[string]any) string {
	raw, _ := json.Marshal(claims)
	return "e30." + base64.RawURLEncoding.EncodeToString(raw) + ".c2ln"
}

// ofAlice returns the claims of a token of alice for orders, changed by some.
func ofAlice(more map[string]any) map[string]any {
	c := map[string]any{"sub": "alice", "aud": []string{"orders"}, "exp": now.Add(10 * time.Minute).Unix(), "scope": "read"}
	maps.Copy(c, more)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

func given(token string, more map[string]any) func(url.Values) (int, any) {
	body := map[string]any{"access_token": token, "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
	maps.Copy(body, more)
	return func(url.Values) (int, any) { return http.StatusOK, body }
}

func refusing(status int, code string) func(url.Values) (int, any) {
	return func(url.Values) (int, any) {
		return status, map[string]string{"error": code, "error_description": "no\x1b[1m"}
	}
}

func newClient(t *testing.T, i *idp, clock func() time.Time) *exchange.Client {
	t.Helper()
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.CloseIdle)
	c, err := exchange.New([]bearer.Issuer{
		{Name: "corp", Issuer: i.URL, Exchange: bearer.Exchange{ClientID: "mesh", ClientSecret: secret.New("s+")}},
		{Name: "other", Issuer: "https://other.example"},
	}, exchange.Deps{Dialer: out, Now: clock, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fixed() time.Time { return now }

var orders = exchange.Target{Audience: "orders", Scopes: []string{"read"}}

func subject() exchange.Token {
	return exchange.Token{
		Value: secret.New(jwt(map[string]any{"sub": "alice", "exp": now.Add(time.Hour).Unix()})), Subject: "alice", Expires: now.Add(time.Hour),
	}
}

func TestExchange(t *testing.T) {
	i := newIDP(t)
	c := newClient(t, i, fixed)
	i.set(given(jwt(ofAlice(nil)), nil))
	for range 2 {
		got, err := c.Exchange(t.Context(), "corp", subject(), "login 1", orders, false)
		if err != nil || got.Subject != "alice" || !got.Expires.Equal(now.Add(10*time.Minute)) || got.Value.Reveal() != jwt(ofAlice(nil)) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if i.asked() != 1 {
		t.Errorf("%d requests, the second answer is cached", i.asked())
	}
	form := i.requests[0]
	for name, want := range map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": subject().Value.Reveal(),
		"subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": "orders", "scope": "read", "resource": "",
	} {
		if form.Get(name) != want {
			t.Errorf("%s is %q", name, form.Get(name))
		}
	}
	for name, call := range map[string]func() (exchange.Token, error){
		"another login": func() (exchange.Token, error) {
			return c.Exchange(t.Context(), "corp", subject(), "login 2", orders, false)
		},
		"a fresh one": func() (exchange.Token, error) {
			return c.Exchange(t.Context(), "corp", subject(), "login 1", orders, true)
		},
		"without scopes": func() (exchange.Token, error) {
			return c.Exchange(t.Context(), "corp", subject(), "login 1", exchange.Target{Resource: "orders"}, false)
		},
	} {
		before := i.asked()
		if _, err := call(); err != nil || i.asked() != before+1 {
			t.Errorf("%s: %v, %d requests", name, err, i.asked()-before)
		}
	}
	if _, err := c.Exchange(t.Context(), "other", subject(), "x", orders, false); exchange.KindOf(err) != exchange.Refused {
		t.Errorf("an issuer without a client of the mesh: %v", err)
	}
}

func TestATokenIsUsedUntilAMinuteBeforeItExpires(t *testing.T) {
	i := newIDP(t)
	at := now
	c := newClient(t, i, func() time.Time { return at })
	i.set(given(jwt(ofAlice(map[string]any{"exp": now.Add(2 * time.Minute).Unix()})), nil))
	get := func() {
		if _, err := c.Exchange(t.Context(), "corp", subject(), "login", orders, false); err != nil {
			t.Fatal(err)
		}
	}
	get()
	at = now.Add(59 * time.Second)
	get()
	if i.asked() != 1 {
		t.Errorf("%d requests", i.asked())
	}
	at = now.Add(61 * time.Second)
	get()
	get() // what is left of it is too short to be kept
	if i.asked() != 3 {
		t.Errorf("%d requests", i.asked())
	}
}

// TestS4WhatATokenMustBe: whatever is wrong with an exchange, there is no token, and nothing takes its place.
func TestS4WhatATokenMustBe(t *testing.T) {
	i := newIDP(t)
	for _, row := range []struct {
		name   string
		answer func(url.Values) (int, any)
		want   exchange.Kind
	}{
		{"another audience", given(jwt(ofAlice(map[string]any{"aud": "billing"})), nil), exchange.Wrong},
		{"a further audience", given(jwt(ofAlice(map[string]any{"aud": []string{"orders", "billing"}})), nil), exchange.Wrong},
		{"no audience", given(jwt(ofAlice(map[string]any{"aud": nil})), nil), exchange.Wrong},
		{"a wider scope in the token", given(jwt(ofAlice(map[string]any{"scope": "read write"})), nil), exchange.Wrong},
		{"a wider scope in the answer", given(jwt(ofAlice(nil)), map[string]any{"scope": "read write"}), exchange.Wrong},
		{"another subject", given(jwt(ofAlice(map[string]any{"sub": "mallory"})), nil), exchange.Wrong},
		{"no subject", given(jwt(ofAlice(map[string]any{"sub": nil})), nil), exchange.Wrong},
		{"an expired token", given(jwt(ofAlice(map[string]any{"exp": now.Add(-time.Second).Unix()})), nil), exchange.Wrong},
		{"no expiry", given(jwt(ofAlice(map[string]any{"exp": nil})), nil), exchange.Wrong},
		{"an opaque token", given("opaque", nil), exchange.Wrong},
		{"no bearer token", given(jwt(ofAlice(nil)), map[string]any{"token_type": "DPoP"}), exchange.Wrong},
		{"a refresh token", given(jwt(ofAlice(nil)), map[string]any{
			"issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token",
		}), exchange.Wrong},
		{"no token", given("", nil), exchange.Wrong},
		{"the subject token is not accepted", refusing(400, "invalid_request"), exchange.Ended},
		{"the audience is not allowed", refusing(400, "invalid_target"), exchange.Refused},
		{"the user may not", refusing(403, "access_denied"), exchange.Refused},
		{"the client is unknown", refusing(401, "invalid_client"), exchange.Refused},
		{"the issuer fails", refusing(500, ""), exchange.Unreachable},
	} {
		t.Run(row.name, func(t *testing.T) {
			i.set(row.answer)
			got, err := newClient(t, i, fixed).Exchange(t.Context(), "corp", subject(), "login", orders, false)
			if exchange.KindOf(err) != row.want || !got.Value.IsZero() {
				t.Errorf("got %+v, %v", got, err)
			}
			if strings.Contains(err.Error(), "e30.") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("the error quotes a token or control characters: %q", err)
			}
		})
	}
}

func TestOneUsersBadTokenDoesNotOpenTheBreaker(t *testing.T) {
	i := newIDP(t)
	c := newClient(t, i, fixed)
	i.set(refusing(400, "invalid_request"))
	for range 20 {
		if _, err := c.Exchange(t.Context(), "corp", subject(), "mallory", orders, false); exchange.KindOf(err) != exchange.Ended {
			t.Fatal(err)
		}
	}
	i.set(given(jwt(ofAlice(nil)), nil))
	if _, err := c.Exchange(t.Context(), "corp", subject(), "alice", orders, false); err != nil {
		t.Errorf("alice: %v", err)
	}
	i.set(refusing(503, ""))
	for range 5 {
		if _, err := c.Exchange(t.Context(), "corp", subject(), "bob", orders, false); exchange.KindOf(err) != exchange.Unreachable {
			t.Fatal(err)
		}
	}
	before := i.asked()
	if _, err := c.Exchange(t.Context(), "corp", subject(), "bob", orders, false); exchange.KindOf(err) != exchange.Unreachable ||
		i.asked() != before {
		t.Errorf("an issuer that fails is asked again: %v", err)
	}
	if _, err := c.Exchange(t.Context(), "corp", subject(), "alice", orders, false); err != nil {
		t.Errorf("a cached token while the issuer is away: %v", err)
	}
}

func TestConcurrentCallersShareARequest(t *testing.T) {
	i := newIDP(t)
	c := newClient(t, i, fixed)
	i.set(given(jwt(ofAlice(nil)), nil))
	i.hold = make(chan struct{})
	var all sync.WaitGroup
	gaveUp, cancel := context.WithCancel(t.Context())
	for n := range 8 {
		all.Go(func() {
			ctx := t.Context()
			if n == 0 {
				ctx = gaveUp
			}
			if _, err := c.Exchange(ctx, "corp", subject(), "login", orders, false); err != nil && n != 0 {
				t.Error(err)
			}
		})
	}
	cancel()
	close(i.hold)
	all.Wait()
	if _, err := c.Exchange(t.Context(), "corp", subject(), "login", orders, false); err != nil || i.asked() > 2 {
		t.Errorf("%d requests, %v", i.asked(), err)
	}
}

func TestLogin(t *testing.T) {
	i := newIDP(t)
	c := newClient(t, i, fixed)
	const refresh = "urn:ietf:params:oauth:token-type:refresh_token"
	for name, row := range map[string]struct {
		answer  func(url.Values) (int, any)
		refresh string
	}{
		"as RFC 8693 says":     {given("r1", map[string]any{"issued_token_type": refresh, "token_type": "N_A"}), "r1"},
		"beside the token":     {given(jwt(ofAlice(nil)), map[string]any{"refresh_token": "r2"}), "r2"},
		"the issuer cannot":    {refusing(400, "invalid_request"), ""},
		"the mesh may not":     {refusing(400, "unauthorized_client"), ""},
		"the issuer is away":   {refusing(503, ""), ""},
		"it gives none at all": {given(jwt(ofAlice(nil)), nil), ""},
	} {
		i.set(row.answer)
		got, err := c.Login(t.Context(), "corp", subject().Value)
		if err != nil || got.Refresh.Reveal() != row.refresh || got.Access.Subject != "alice" || !got.Access.Expires.Equal(now.Add(time.Hour)) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	i.set(given(jwt(map[string]any{"sub": "alice", "exp": now.Add(time.Minute).Unix()}), map[string]any{"refresh_token": "next"}))
	if got, err := c.Refresh(t.Context(), "corp", secret.New("r1"), "alice"); err != nil || got.Refresh.Reveal() != "next" ||
		got.Access.Value.IsZero() {
		t.Errorf("refreshed: %+v, %v", got, err)
	}
	if _, err := c.Refresh(t.Context(), "corp", secret.New("r1"), "bob"); exchange.KindOf(err) != exchange.Wrong {
		t.Errorf("a token of another user: %v", err)
	}
}

func TestRefreshTokensAreRevoked(t *testing.T) {
	i := newIDP(t)
	c := newClient(t, i, func() time.Time { return now })
	for _, endpoint := range []string{"", "http://elsewhere.example.com/revoke", i.URL + "/revoke"} {
		i.revoke = endpoint
		if err := c.Revoke(t.Context(), "corp", secret.New("r-1")); err != nil {
			t.Errorf("with the endpoint %q: %v", endpoint, err)
		}
	}
	if len(i.revoked) != 1 || i.revoked[0].Get("token") != "r-1" || i.revoked[0].Get("token_type_hint") != "refresh_token" {
		t.Errorf("revoked: %v", i.revoked)
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	i.revoke = closed.URL
	for range 20 {
		if err := c.Revoke(t.Context(), "corp", secret.New("r-1")); exchange.KindOf(err) != exchange.Unreachable {
			t.Errorf("with an endpoint that does not answer: %v", err)
		}
	}
	i.set(given(jwt(ofAlice(nil)), nil))
	if _, err := c.Refresh(t.Context(), "corp", secret.New("r-1"), "alice"); exchange.KindOf(err) == exchange.Unreachable {
		t.Errorf("a token after revocations have failed: %v", err)
	}
	i.Close()
	if err := c.Revoke(t.Context(), "corp", secret.New("r-1")); exchange.KindOf(err) != exchange.Unreachable {
		t.Errorf("while the issuer is away: %v", err)
	}
}
