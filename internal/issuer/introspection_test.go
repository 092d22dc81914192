package issuer

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/secret"
)

// TestRevokedTokensAreRefusedByTheMesh: a verifier that introspects refuses a token that was revoked here, after max_age.
func TestRevokedTokensAreRefusedByTheMesh(t *testing.T) {
	w := newWorld(t, testConfig())
	access := w.device("alice", "openid").text(t, "access_token")
	cfg := bearer.Issuer{
		Name: "dev", Issuer: w.URL(), Audiences: []string{"windlass"},
		Introspection: bearer.Introspection{ClientID: "mesh", ClientSecret: secret.New(password), MaxAge: 10 * time.Second},
	}
	later := time.Duration(0)
	v, err := bearer.New([]bearer.Issuer{cfg}, bearer.Deps{
		Client: w.web, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Now().Add(later) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := v.Verify(t.Context(), access, ""); err != nil || p.GetSubject() != "dev:alice" {
		t.Fatalf("%v, %v", p, err)
	}
	if got := w.revoke(access); got.status != 200 {
		t.Fatalf("revoke: %d %s", got.status, got.body)
	}
	if _, err := v.Verify(t.Context(), access, ""); err != nil {
		t.Errorf("within max_age: %v", err)
	}
	later = 11 * time.Second
	if _, err := v.Verify(t.Context(), access, ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("after max_age: %v", err)
	}
	cfg.Introspection.ClientID = "billing" // which the token is not addressed to
	if v, err = bearer.New([]bearer.Issuer{cfg}, bearer.Deps{Client: w.web, Log: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	other := w.device("alice", "openid").text(t, "access_token")
	if _, err := v.Verify(t.Context(), other, ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("asked by another client: %v", err)
	}
}
