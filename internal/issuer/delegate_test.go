package issuer

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/secret"
)

// delegating returns a configuration whose client mesh may act for users after their tokens have expired.
func delegating() account.Config {
	cfg := testConfig()
	for i := range cfg.Clients {
		if cfg.Clients[i].ID == "mesh" {
			cfg.Clients[i].Grants = []string{account.Exchange, account.Refresh}
		}
	}
	cfg.Clients = append(cfg.Clients, account.Client{
		ID: "rival", Secret: secret.New(password), Grants: []string{account.Exchange, account.Refresh}, Audiences: []string{"windlass"},
	})
	return cfg
}

func ofMesh(pairs ...string) url.Values {
	return form(append([]string{"client_id", "mesh", "client_secret", password}, pairs...)...)
}

// delegation asks for a refresh token of the mesh.
func delegation(token string, more ...string) url.Values {
	return ofMesh(append([]string{
		"grant_type", account.Exchange, "subject_token", token, "subject_token_type", tokenType + "access_token",
		"requested_token_type", tokenType + "refresh_token",
	}, more...)...)
}

func TestAClientActsForAUserAfterTheUsersTokenHasExpired(t *testing.T) {
	w := newWorld(t, delegating())
	login := w.device("alice", "openid offline_access")
	got := w.token(delegation(login.text(t, "access_token")))
	refresh := got.text(t, "refresh_token")
	if refresh == "" || got.text(t, "issued_token_type") != tokenType+"refresh_token" {
		t.Fatalf("%d %s", got.status, got.body)
	}
	w.pass(time.Hour)
	for range 2 { // it stays the same
		own := w.token(ofMesh("grant_type", account.Refresh, "refresh_token", refresh))
		_, claims := parts(t, own.text(t, "access_token"))
		if aud, _ := claims["aud"].([]any); !slices.Equal(aud, []any{"windlass"}) || claims["sub"] != "alice" || claims["client_id"] != "mesh" ||
			own.text(t, "refresh_token") != "" {
			t.Errorf("%d %s", own.status, own.body)
		}
		exchanged := w.token(ofMesh("grant_type", account.Exchange, "subject_token", own.text(t, "access_token"), "subject_token_type",
			tokenType+"access_token", "audience", "orders"))
		_, claims = parts(t, exchanged.text(t, "access_token"))
		if actor, _ := claims["act"].(map[string]any); claims["sub"] != "alice" || actor["sub"] != "mesh" {
			t.Errorf("%d %s", exchanged.status, exchanged.body)
		}
	}
	if res := w.token(form("grant_type", account.Refresh, "refresh_token", refresh, "client_id", "rival", "client_secret",
		password)); res.status != 400 || res.text(t, "error") != "invalid_grant" {
		t.Errorf("another client: %d %s", res.status, res.body)
	}
	w.revoke(login.text(t, "refresh_token"))
	if res := w.token(ofMesh("grant_type", account.Refresh, "refresh_token", refresh)); res.status != 400 ||
		res.text(t, "error") != "invalid_grant" {
		t.Errorf("after the logout: %d %s", res.status, res.body)
	}
}

func TestWhoGetsNoRefreshTokenByExchange(t *testing.T) {
	w := newWorld(t, delegating())
	login := w.device("alice", "openid offline_access")
	robot := w.token(form("grant_type", account.ClientCredentials, "client_id", "robot", "client_secret", password)).text(t, "access_token")
	refresh := w.token(delegation(login.text(t, "access_token"))).text(t, "refresh_token")
	own := w.token(ofMesh("grant_type", account.Refresh, "refresh_token", refresh)).text(t, "access_token")
	expired := w.device("bob", "openid").text(t, "access_token")
	w.pass(config.Default[account.Config]().AccessTokenTTL + time.Second)
	fresh := w.refreshCLI(login.text(t, "refresh_token")).text(t, "access_token")
	for _, row := range []struct {
		name string
		v    url.Values
		err  string
	}{
		{"for a client's own token", delegation(robot), "invalid_request"},
		{"for a token that it got this way", delegation(own), "invalid_request"},
		{"for an expired token", delegation(expired), "invalid_request"},
		{"for another audience", delegation(fresh, "audience", "orders"), "invalid_target"},
		{"with more scopes", delegation(fresh, "scope", "openid profile"), "invalid_scope"},
	} {
		if res := w.token(row.v); res.status != 400 || res.text(t, "error") != row.err {
			t.Errorf("%s: %d %s", row.name, res.status, res.body)
		}
	}
}
