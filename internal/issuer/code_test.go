package issuer

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/windlass-dev/windlass/internal/issuer/account"
)

const (
	challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636, appendix B
	verifier  = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// request is an authorization request that is right.
func request() url.Values {
	return form(
		"response_type",
		"code",
		"client_id",
		"web",
		"redirect_uri",
		"http://127.0.0.1:9/cb",
		"scope",
		"openid profile offline_access",
		"state",
		"s1",
		"nonce",
		"n1",
		"code_challenge",
		challenge,
		"code_challenge_method",
		"S256",
	)
}

// authorize makes an authorization request and logs alice in; it returns where she is sent.
func (w *world) authorize(v url.Values) *url.URL {
	w.t.Helper()
	login := w.do(http.MethodGet, "/authorize?"+v.Encode(), nil).header.Get("Location")
	id := strings.TrimPrefix(login, "/login?id=")
	sent := w.do(http.MethodPost, "/login", form("id", id, "username", "alice", "password", password, "decision", "allow"))
	to, err := url.Parse(sent.header.Get("Location"))
	if err != nil || sent.status != http.StatusSeeOther {
		w.t.Fatalf("%d %s: %v", sent.status, sent.body, err)
	}
	return to
}

func (w *world) redeem(code string, more ...string) response {
	w.t.Helper()
	return w.token(with(form("grant_type", account.Code, "client_id", "web", "client_secret", password, "code", code,
		"redirect_uri", "http://127.0.0.1:9/cb", "code_verifier", verifier), more...))
}

func TestAnOAuthClientLogsIn(t *testing.T) {
	w := newWorld(t, testConfig())
	redirect := "http://127.0.0.1:5555/callback"
	client := oauth2.Config{
		ClientID: "windlass-cli", RedirectURL: redirect, Scopes: []string{"openid", "offline_access"},
		Endpoint: oauth2.Endpoint{AuthURL: w.url + "/authorize", TokenURL: w.url + "/token"},
	}
	proof := oauth2.GenerateVerifier()
	u, err := url.Parse(client.AuthCodeURL("state", oauth2.S256ChallengeOption(proof)))
	if err != nil {
		t.Fatal(err)
	}
	to := w.authorize(u.Query())
	q := to.Query()
	if !strings.HasPrefix(to.String(), redirect+"?") || q.Get("state") != "state" || q.Get("iss") != w.url {
		t.Errorf("sent to %s", to)
	}
	ctx := context.WithValue(t.Context(), oauth2.HTTPClient, w.web)
	tok, err := client.Exchange(ctx, q.Get("code"), oauth2.VerifierOption(proof))
	if err != nil || tok.RefreshToken == "" || tok.Extra("id_token") == "" {
		t.Fatalf("%+v, %v", tok, err)
	}
	tok.Expiry = w.now.Add(-1)
	if again, err := client.TokenSource(ctx, tok).Token(); err != nil || again.RefreshToken == tok.RefreshToken {
		t.Errorf("refreshed %+v, %v", again, err)
	}
}

func TestTokensOfALogin(t *testing.T) {
	w := newWorld(t, testConfig())
	res := w.redeem(w.authorize(request()).Query().Get("code"))
	header, access := parts(t, res.text(t, "access_token"))
	if header["typ"] != "at+jwt" || header["alg"] != "RS256" || access["token_use"] != "access" || access["iss"] != w.url ||
		access["sub"] != "alice" || access["department"] != "finance" || access["tenant"] != "default" || access["client_id"] != "web" ||
		access["scope"] != "openid profile offline_access" || access["jti"] == "" {
		t.Errorf("access token %v %v", header, access)
	}
	if aud, _ := access["aud"].([]any); !slices.Equal(aud, []any{"windlass"}) {
		t.Errorf("audience of the access token %v", access["aud"])
	}
	header, id := parts(t, res.text(t, "id_token"))
	if header["typ"] != "JWT" || id["token_use"] != "id" || id["nonce"] != "n1" || id["azp"] != "web" || id["at_hash"] == "" {
		t.Errorf("ID token %v %v", header, id)
	}
	if aud, _ := id["aud"].([]any); !slices.Equal(aud, []any{"web"}) {
		t.Errorf("an ID token is addressed to %v: it passes for an access token", id["aud"])
	}
	if info := w.do(
		http.MethodGet,
		"/userinfo",
		nil,
		"Authorization",
		"Bearer "+res.text(t, "access_token"),
	); info.text(
		t,
		"sub",
	) != "alice" {
		t.Errorf("userinfo %s", info.body)
	}
	if info := w.do(
		http.MethodGet,
		"/userinfo",
		nil,
		"Authorization",
		"Bearer "+res.text(t, "id_token"),
	); info.status != http.StatusUnauthorized {
		t.Errorf("an ID token got %d %s", info.status, info.body)
	}
	with := request()
	with.Set("resource", "https://mcp.example.com")
	res = w.redeem(w.authorize(with).Query().Get("code"))
	if _, access = parts(
		t,
		res.text(t, "access_token"),
	); access["aud"].([]any)[0] != "https://mcp.example.com" {
		t.Errorf("audience with a resource %v", access["aud"])
	}
}

func TestKeysVerifyTokens(t *testing.T) {
	w := newWorld(t, testConfig())
	access := w.device("bob", "openid").text(t, "access_token")
	keys := w.do(http.MethodGet, "/keys", nil)
	key, ok := keys.json(t)["keys"].([]any)[0].(map[string]any)
	header, _ := parts(t, access)
	if !ok || key["kid"] != header["kid"] || key["alg"] != "RS256" || key["use"] != "sig" || key["d"] != nil {
		t.Fatalf("keys %s", keys.body)
	}
	pub := w.signer.Keys().Keys[0].Key
	if _, err := jwt.Parse(
		access,
		func(*jwt.Token) (any, error) { return pub, nil },
		jwt.WithIssuer(w.url),
		jwt.WithAudience("windlass"),
	); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"} {
		doc := w.do(http.MethodGet, path, nil).json(t)
		if doc["issuer"] != w.url || doc["jwks_uri"] != w.url+"/keys" || doc["authorization_response_iss_parameter_supported"] != true {
			t.Errorf("%s: %v", path, doc)
		}
	}
}

// What is wrong with an authorization request is told to the client, unless it is the redirect URI or the client itself.
func TestWrongAuthorizationRequests(t *testing.T) {
	w := newWorld(t, testConfig())
	for _, tc := range []struct {
		name   string
		change []string
		want   string // error in the redirect, "" for a page instead of a redirect
	}{
		{"no PKCE", []string{"code_challenge", ""}, "invalid_request"},
		{"plain PKCE", []string{"code_challenge_method", "plain"}, "invalid_request"},
		{"PKCE without a method", []string{"code_challenge_method", ""}, "invalid_request"},
		{"without interaction", []string{"prompt", "none"}, "login_required"},
		{"a fragment", []string{"response_mode", "fragment"}, "invalid_request"},
		{"a resource of others", []string{"resource", "https://evil.example.com"}, "invalid_target"},
		{"the implicit flow", []string{"response_type", "id_token token"}, ""},
		{"an unknown client", []string{"client_id", "nobody"}, ""},
		{"a client without this flow", []string{"client_id", "robot"}, ""},
		{"no redirect URI", []string{"redirect_uri", ""}, ""},
		{"another host", []string{"redirect_uri", "http://evil.example.com/cb"}, ""},
		{"another path", []string{"redirect_uri", "http://127.0.0.1:9/cb/../x"}, ""},
		{"another port of a confidential client", []string{"redirect_uri", "http://127.0.0.1:10/cb"}, ""},
		{"an escaped URI", []string{"redirect_uri", "http%3A%2F%2F127.0.0.1:9%2Fcb"}, ""},
		{"a user in the URI", []string{"client_id", "windlass-cli", "redirect_uri", "http://evil@127.0.0.1:5/callback"}, ""},
		{"https in place of http", []string{"client_id", "windlass-cli", "redirect_uri", "https://127.0.0.1:5/callback"}, ""},
		{"another query", []string{"client_id", "windlass-cli", "redirect_uri", "http://127.0.0.1:5/callback?x=1"}, ""},
		{"a request object", []string{"request", "e30.e30."}, ""},
		{"a request object elsewhere", []string{"request_uri", "http://127.0.0.1:9/x"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res := w.do(http.MethodGet, "/authorize?"+with(request(), tc.change...).Encode(), nil)
			to, err := url.Parse(res.header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if res.status < 400 || to.String() != "" {
					t.Errorf("%d %s, sent to %s", res.status, res.body, to)
				}
				return
			}
			if q := to.Query(); res.status != http.StatusFound || to.Host != "127.0.0.1:9" || q.Get("error") != tc.want ||
				q.Get("state") != "s1" ||
				q.Get("iss") != w.url {
				t.Errorf("%d, sent to %s", res.status, to)
			}
		})
	}
}

func TestWrongCodes(t *testing.T) {
	w := newWorld(t, testConfig())
	for _, tc := range []struct {
		name   string
		change []string
		status int
	}{
		{"another verifier", []string{"code_verifier", "x" + verifier}, 400},
		{"no verifier", []string{"code_verifier", ""}, 400},
		{"another redirect URI", []string{"redirect_uri", "http://127.0.0.1:9/other"}, 400},
		{"a wrong secret", []string{"client_secret", "x"}, 401},
		{"no secret", []string{"client_secret", ""}, 401},
		{"another client", []string{"client_id", "windlass-cli", "client_secret", ""}, 400},
		{"a client without this grant", []string{"client_id", "robot"}, 400},
		{"a code that was made up", []string{"code", "MADEUP"}, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if res := w.redeem(
				w.authorize(request()).Query().Get("code"),
				tc.change...); res.status != tc.status ||
				strings.Contains(res.body, "access_token") {
				t.Errorf("%d %s", res.status, res.body)
			}
		})
	}
	code := w.authorize(request()).Query().Get("code")
	w.pass(2 * 60e9)
	if res := w.redeem(code); res.status != 400 {
		t.Errorf("an old code: %d %s", res.status, res.body)
	}
}

// A code that is used twice was stolen by one of the two: the login ends.
func TestAReplayedCodeEndsTheLogin(t *testing.T) {
	w := newWorld(t, testConfig())
	code := w.authorize(request()).Query().Get("code")
	first := w.redeem(code)
	if again := w.redeem(code); again.status != 400 {
		t.Errorf("the second time: %d %s", again.status, again.body)
	}
	if res := w.refresh(first.text(t, "refresh_token")); res.status != 400 {
		t.Errorf("the login goes on: %d %s", res.status, res.body)
	}
	if info := w.do(
		http.MethodGet,
		"/userinfo",
		nil,
		"Authorization",
		"Bearer "+first.text(t, "access_token"),
	); info.status != http.StatusUnauthorized {
		t.Errorf("the access token is active: %d", info.status)
	}
}

// A program that sends a user to the login page knows the id of the request, which must yield no code once the user has logged in.
func TestTheIDOfARequestYieldsNoCode(t *testing.T) {
	w := newWorld(t, testConfig())
	login := w.do(http.MethodGet, "/authorize?"+request().Encode(), nil).header.Get("Location")
	id := strings.TrimPrefix(login, "/login?id=")
	w.do(http.MethodPost, "/login", form("id", id, "username", "alice", "password", password, "decision", "allow"))
	for _, path := range []string{"/authorize/callback?id=" + id, "/login?id=" + id} {
		if res := w.do(http.MethodGet, path, nil); res.status != http.StatusNotFound || res.header.Get("Location") != "" {
			t.Errorf("%s: %d to %s", path, res.status, res.header.Get("Location"))
		}
	}
}
