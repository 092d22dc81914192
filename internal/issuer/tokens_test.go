package issuer

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
)

func (w *world) refresh(token string, more ...string) response {
	w.t.Helper()
	return w.token(with(form("grant_type", account.Refresh, "client_id", "web", "client_secret", password, "refresh_token", token), more...))
}

func (w *world) refreshCLI(token string) response {
	w.t.Helper()
	return w.refresh(token, "client_id", "windlass-cli", "client_secret", "")
}

func TestDeviceFlow(t *testing.T) {
	w := newWorld(t, testConfig())
	asked := w.do(http.MethodPost, "/device_authorization", form("client_id", "windlass-cli", "scope", "openid offline_access admin"))
	code, device := asked.text(t, "user_code"), asked.text(t, "device_code")
	poll := func(client string) response {
		return w.token(form("grant_type", account.Device, "client_id", client, "device_code", device))
	}
	steps := func(wait time.Duration, want string) {
		t.Helper()
		w.pass(wait)
		if got := poll("windlass-cli"); got.status != 400 || got.text(t, "error") != want {
			t.Errorf("%d %s, want %s", got.status, got.body, want)
		}
	}
	steps(0, "authorization_pending")
	steps(0, "slow_down")
	steps(3*time.Second, "authorization_pending")
	page := w.do(http.MethodGet, "/device?user_code="+strings.ToLower(strings.ReplaceAll(code, "-", "")), nil)
	if page.status != 200 || !strings.Contains(page.body, "windlass-cli") || strings.Contains(page.body, "admin") {
		t.Errorf("page %d %s", page.status, page.body)
	}
	if res := w.do(
		http.MethodPost,
		"/device",
		form("user_code", code, "username", "bob", "password", "x", "decision", "allow"),
	); res.status != 401 {
		t.Errorf("a wrong password: %d", res.status)
	}
	steps(3*time.Second, "authorization_pending")
	if res := w.do(
		http.MethodPost,
		"/device",
		form("user_code", code, "username", "bob", "password", password, "decision", "allow"),
	); res.status != 200 {
		t.Errorf("a right one: %d %s", res.status, res.body)
	}
	if res := w.token(
		form("grant_type", account.Device, "client_id", "web", "client_secret", password, "device_code", device),
	); res.status != 400 {
		t.Errorf("another client: %d %s", res.status, res.body)
	}
	w.pass(3 * time.Second)
	got := poll("windlass-cli")
	_, claims := parts(t, got.text(t, "access_token"))
	if claims["sub"] != "bob" || claims["department"] != "engineering" || claims["scope"] != "openid offline_access" ||
		got.text(t, "refresh_token") == "" {
		t.Errorf("%s", got.body)
	}
	steps(3*time.Second, "expired_token") // once only
	if res := w.do(http.MethodPost, "/device_authorization", form("client_id", "web", "client_secret", password)); res.status != 400 {
		t.Errorf("a client without this flow: %d %s", res.status, res.body)
	}
}

func TestARefusedDevice(t *testing.T) {
	w := newWorld(t, testConfig())
	asked := w.do(http.MethodPost, "/device_authorization", form("client_id", "windlass-cli"))
	code, device := asked.text(t, "user_code"), asked.text(t, "device_code")
	w.do(http.MethodPost, "/device", form("user_code", code, "decision", "deny"))
	res := w.token(form("grant_type", account.Device, "client_id", "windlass-cli", "device_code", device))
	if res.status != 400 || res.text(t, "error") != "access_denied" {
		t.Errorf("%d %s", res.status, res.body)
	}
	if res := w.do(
		http.MethodPost,
		"/device",
		form("user_code", code, "username", "bob", "password", password, "decision", "allow"),
	); res.status != 404 {
		t.Errorf("allowed after it was refused: %d", res.status)
	}
}

func TestRefreshTokensRotate(t *testing.T) {
	w := newWorld(t, testConfig())
	first := w.device("alice", "openid profile offline_access")
	one := first.text(t, "refresh_token")
	second := w.refreshCLI(one)
	two := second.text(t, "refresh_token")
	if two == "" || two == one {
		t.Fatalf("%d %s", second.status, second.body)
	}
	if res := w.refresh(two); res.status != 400 {
		t.Errorf("another client: %d %s", res.status, res.body)
	}
	if res := w.refresh(
		two,
		"client_id",
		"windlass-cli",
		"client_secret",
		"",
		"scope",
		"openid admin",
	); res.status != 400 ||
		res.text(t, "error") != "invalid_scope" {
		t.Errorf("more scopes: %d %s", res.status, res.body)
	}
	if res := w.refreshCLI(two + "x"); res.status != 400 {
		t.Errorf("a changed token: %d %s", res.status, res.body)
	}
	if res := w.refreshCLI(strings.Replace(two, ".2.", ".1.", 1)); res.status != 400 {
		t.Errorf("a made-up token: %d %s", res.status, res.body)
	}
	less := w.refresh(two, "client_id", "windlass-cli", "client_secret", "", "scope", "profile")
	if _, claims := parts(t, less.text(t, "access_token")); claims["scope"] != "profile" {
		t.Errorf("fewer scopes: %v", claims)
	}
	three := less.text(t, "refresh_token")
	if res := w.refreshCLI(one); res.status != 400 || res.text(t, "error") != "invalid_grant" {
		t.Errorf("a token that was replaced: %d %s", res.status, res.body)
	}
	if res := w.refreshCLI(three); res.status != 400 {
		t.Errorf("reuse did not end the login: %d %s", res.status, res.body)
	}
}

func TestLoginsOutliveARestart(t *testing.T) {
	cfg := testConfig()
	w := newWorld(t, cfg)
	res := w.device("alice", "openid offline_access")
	w.restart(cfg)
	if info := w.do(http.MethodGet, "/userinfo", nil, "Authorization", "Bearer "+res.text(t, "access_token")); info.status != http.StatusOK {
		t.Errorf("the access token: %d %s", info.status, info.body)
	}
	again := w.refreshCLI(res.text(t, "refresh_token"))
	if again.status != http.StatusOK {
		t.Fatalf("the refresh token: %d %s", again.status, again.body)
	}
	w.restart(cfg)
	if reused := w.refreshCLI(res.text(t, "refresh_token")); reused.status != 400 {
		t.Errorf("a replaced token after a restart: %d", reused.status)
	}
	for _, file := range []string{"signing.pem", "logins.json", "accounts.json"} {
		info, err := os.Stat(filepath.Join(w.dir, file))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(w.dir, "logins.json"))
	if err != nil || strings.Contains(string(raw), "wlr_") {
		t.Errorf("refresh tokens are in clear: %s, %v", raw, err)
	}
	w.pass(cfg.RefreshTokenTTL + time.Second)
	fresh := w.device("alice", "openid offline_access")
	w.pass(cfg.RefreshTokenTTL + time.Second)
	if old := w.refreshCLI(fresh.text(t, "refresh_token")); old.status != 400 {
		t.Errorf("an expired login: %d", old.status)
	}
}

func TestARemovedUserGetsNoTokens(t *testing.T) {
	cfg := testConfig()
	w := newWorld(t, cfg)
	res := w.device("alice", "offline_access")
	cfg.Users = cfg.Users[1:]
	w.restart(cfg)
	if res := w.refreshCLI(res.text(t, "refresh_token")); res.status != 400 {
		t.Errorf("%d %s", res.status, res.body)
	}
}

func TestClientCredentials(t *testing.T) {
	w := newWorld(t, testConfig())
	const assertion = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	right := form("grant_type", account.ClientCredentials, "client_id", "robot", "client_secret", password, "scope", "profile openid")
	_, claims := parts(t, w.token(right).text(t, "access_token"))
	if claims["sub"] != "robot" || claims["client_id"] != "robot" || claims["scope"] != "profile" || claims["sid"] != nil {
		t.Errorf("claims %v", claims)
	}
	basic := w.do(
		http.MethodPost,
		"/token",
		with(right, "client_id", "", "client_secret", ""),
		"Authorization",
		"Basic cm9ib3Q6Y29ycmVjdC1ob3JzZQ==",
	)
	if basic.status != http.StatusOK {
		t.Errorf("basic: %d %s", basic.status, basic.body)
	}
	for name, wrong := range map[string]url.Values{
		"a wrong secret":       with(right, "client_secret", "x"),
		"no secret":            with(right, "client_secret", ""),
		"a public client":      with(right, "client_id", "windlass-cli", "client_secret", ""),
		"another client":       with(right, "client_id", "web"),
		"an unknown one":       with(right, "client_id", "nobody"),
		"an assertion":         with(right, "client_secret", "", "client_assertion", "e30.e30.", "client_assertion_type", assertion),
		"a resource of others": with(right, "resource", "billing"),
		"an assertion grant":   with(right, "grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion", "e30.e30."),
		"a password grant":     with(right, "grant_type", "password"),
	} {
		if res := w.token(wrong); res.status != 400 && res.status != 401 || strings.Contains(res.body, "access_token") {
			t.Errorf("%s: %d %s", name, res.status, res.body)
		}
	}
}

func (w *world) introspect(token, client string) map[string]any {
	w.t.Helper()
	return w.do(http.MethodPost, "/introspect", form("token", token, "client_id", client, "client_secret", password)).json(w.t)
}

func (w *world) revoke(token string) response {
	w.t.Helper()
	return w.do(http.MethodPost, "/revoke", form("token", token, "client_id", "windlass-cli"))
}

func TestIntrospectionAndRevocation(t *testing.T) {
	w := newWorld(t, testConfig())
	res := w.device("alice", "openid offline_access")
	access, refresh := res.text(t, "access_token"), res.text(t, "refresh_token")
	if got := w.introspect(access, "mesh"); got["active"] != true || got["sub"] != "alice" || got["client_id"] != "windlass-cli" {
		t.Errorf("introspection %v", got)
	}
	for name, got := range map[string]map[string]any{
		"a client that it is not addressed to": w.introspect(access, "billing"),
		"a refresh token":                      w.introspect(refresh, "mesh"),
		"an ID token":                          w.introspect(res.text(t, "id_token"), "mesh"),
	} {
		if got["active"] != false || len(got) != 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := w.do(http.MethodPost, "/introspect", form("token", access, "client_id", "mesh", "client_secret", "x")); got.status != 401 {
		t.Errorf("a wrong secret: %d %s", got.status, got.body)
	}
	if got := w.do(http.MethodPost, "/revoke", form("token", refresh, "client_id", "web", "client_secret", password)); got.status != 200 {
		t.Errorf("revoked by another client: %d", got.status)
	}
	if got := w.introspect(access, "mesh"); got["active"] != true {
		t.Error("another client revoked the login")
	}
	second := w.device("alice", "openid").text(t, "access_token")
	if got := w.revoke(
		second,
	); got.status != 200 || w.introspect(second, "mesh")["active"] != false ||
		w.introspect(access, "mesh")["active"] != true {
		t.Errorf("an access token alone: %d %s", got.status, got.body)
	}
	if got := w.revoke(
		refresh,
	); got.status != 200 || w.introspect(access, "mesh")["active"] != false ||
		w.refreshCLI(refresh).status != 400 {
		t.Errorf("the login: %d %s", got.status, got.body)
	}
	if got := w.revoke("nonsense"); got.status != 200 {
		t.Errorf("an unknown token: %d", got.status)
	}
}

func TestLogout(t *testing.T) {
	w := newWorld(t, testConfig())
	code := w.authorize(request()).Query().Get("code")
	res, other := w.redeem(code), w.device("alice", "offline_access")
	hint := res.text(t, "id_token")
	for name, v := range map[string]url.Values{
		"no hint":           form("client_id", "web"),
		"an access token":   form("id_token_hint", res.text(t, "access_token")),
		"another client":    form("id_token_hint", hint, "client_id", "windlass-cli"),
		"another page":      form("id_token_hint", hint, "post_logout_redirect_uri", "http://evil.example.com"),
		"a made-up hint":    form("id_token_hint", hint[:len(hint)-4]+"AAAA"),
		"an unsigned token": form("id_token_hint", "eyJhbGciOiJub25lIn0."+strings.Split(hint, ".")[1]+"."),
	} {
		if got := w.do(http.MethodGet, "/logout?"+v.Encode(), nil); got.status != 400 || got.header.Get("Location") != "" {
			t.Errorf("%s: %d to %s", name, got.status, got.header.Get("Location"))
		}
	}
	w.pass(time.Hour) // the hint may have expired
	got := w.do(
		http.MethodGet,
		"/logout?"+form("id_token_hint", hint, "post_logout_redirect_uri", "http://127.0.0.1:9/cb", "state", "x").Encode(),
		nil,
	)
	if to := got.header.Get(
		"Location",
	); got.status != http.StatusFound || !strings.HasPrefix(to, "http://127.0.0.1:9/cb?") ||
		!strings.Contains(to, "state=x") {
		t.Errorf("%d to %s", got.status, to)
	}
	if res := w.refresh(res.text(t, "refresh_token")); res.status != 400 {
		t.Errorf("the login goes on: %d", res.status)
	}
	if res := w.refreshCLI(other.text(t, "refresh_token")); res.status != 200 {
		t.Errorf("the login at another client ended: %d %s", res.status, res.body)
	}
}

const tokenType = "urn:ietf:params:oauth:token-type:"

func TestTokenExchange(t *testing.T) {
	w := newWorld(t, testConfig())
	login := w.device("alice", "openid offline_access")
	robot := w.token(form("grant_type", account.ClientCredentials, "client_id", "robot", "client_secret", password)).text(t, "access_token")
	right := form(
		"grant_type",
		account.Exchange,
		"client_id",
		"mesh",
		"client_secret",
		password,
		"subject_token",
		login.text(t, "access_token"),
		"subject_token_type",
		tokenType+"access_token",
		"audience",
		"billing",
	)
	got := w.token(right)
	_, claims := parts(t, got.text(t, "access_token"))
	actor, _ := claims["act"].(map[string]any)
	aud, _ := claims["aud"].([]any)
	if !slices.Equal(aud, []any{"billing"}) || claims["sub"] != "alice" || actor["sub"] != "mesh" || claims["scope"] != "openid" ||
		claims["department"] != "finance" || claims["client_id"] != "mesh" || got.text(t, "refresh_token") != "" ||
		got.text(t, "issued_token_type") != tokenType+"access_token" {
		t.Errorf("%s, claims %v", got.body, claims)
	}
	two, other, empty := with(right), with(right), with(right)
	two.Add("audience", "orders")
	other.Add("audience", "ledger")
	empty.Set("audience", "")
	revoked := w.device("bob", "openid").text(t, "access_token")
	w.revoke(revoked)
	for _, tc := range []struct {
		name   string
		v      url.Values
		status int
		err    string
	}{
		{"two audiences that are allowed", two, 200, ""},
		{"as a resource", with(right, "audience", "", "resource", "orders"), 200, ""},
		{"a client that acts for itself", with(right, "subject_token", robot), 200, ""},
		{"no audience", with(right, "audience", ""), 400, "invalid_request"},
		{"an empty audience", empty, 400, ""},
		{"an audience that is not allowed", with(right, "audience", "ledger"), 400, "invalid_target"},
		{"the audience of the mesh itself", with(right, "audience", "windlass"), 400, "invalid_target"},
		{"one of two that is not allowed", other, 400, "invalid_target"},
		{"a client without the grant", with(right, "client_id", "robot"), 400, "unauthorized_client"},
		{"a public client", with(right, "client_id", "windlass-cli", "client_secret", ""), 400, "unauthorized_client"},
		{"a wrong secret", with(right, "client_secret", "x"), 401, "invalid_client"},
		{"a token for another client", with(right, "client_id", "billing", "audience", "ledger"), 400, "invalid_request"},
		{"a forged token", with(right, "subject_token", login.text(t, "access_token")+"x"), 400, "invalid_request"},
		{"a revoked token", with(right, "subject_token", revoked), 400, "invalid_request"},
		{"an ID token", with(right, "subject_token", login.text(t, "id_token"), "subject_token_type", tokenType+"id_token"), 400, ""},
		{"an ID token as an access token", with(right, "subject_token", login.text(t, "id_token")), 400, "invalid_request"},
		{
			"a refresh token", with(right, "subject_token", login.text(t, "refresh_token"), "subject_token_type", tokenType+"refresh_token"),
			400, "invalid_request",
		},
		{
			"for a refresh token, without the grant", with(right, "requested_token_type", tokenType+"refresh_token"), 400,
			"unauthorized_client",
		},
		{"for an ID token", with(right, "requested_token_type", tokenType+"id_token"), 400, "invalid_request"},
		{"more scopes", with(right, "scope", "openid profile"), 400, "invalid_scope"},
		{"an actor token", with(right, "actor_token", robot, "actor_token_type", tokenType+"access_token"), 400, "invalid_request"},
		{"no subject token", with(right, "subject_token", ""), 400, "invalid_request"},
		{"no subject token type", with(right, "subject_token_type", ""), 400, "invalid_request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if res := w.token(tc.v); res.status != tc.status || tc.err != "" && res.text(t, "error") != tc.err {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
}

func TestChainsOfExchanges(t *testing.T) {
	cfg := testConfig()
	w := newWorld(t, cfg)
	v := form(
		"grant_type",
		account.Exchange,
		"client_id",
		"mesh",
		"client_secret",
		password,
		"audience",
		"billing",
		"subject_token",
		w.device("alice", "openid").text(t, "access_token"),
		"subject_token_type",
		tokenType+"access_token",
	)
	w.pass(cfg.AccessTokenTTL - 30*time.Second)
	first := w.token(v)
	if left, _ := first.json(t)["expires_in"].(float64); left > 30 {
		t.Errorf("the new token outlives the old one: %s", first.body)
	}
	second := w.token(with(v, "client_id", "billing", "audience", "ledger", "subject_token", first.text(t, "access_token")))
	_, claims := parts(t, second.text(t, "access_token"))
	actor, _ := claims["act"].(map[string]any)
	before, _ := actor["act"].(map[string]any)
	if claims["sub"] != "alice" || actor["sub"] != "billing" || before["sub"] != "mesh" {
		t.Errorf("claims %v", claims)
	}
	w.pass(time.Minute)
	if res := w.token(v); res.status != 400 {
		t.Errorf("an expired token: %d %s", res.status, res.body)
	}
}
