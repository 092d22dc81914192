package bearer_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

var discard = slog.New(slog.DiscardHandler)

// introspecting returns a verifier that asks its issuer about tokens.
func introspecting(t *testing.T) (*bearertest.Issuer, *bearer.Verifier, *clock) {
	t.Helper()
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.Introspection = idp.Introspection()
	v, now := newVerifier(t, cfg)
	return idp, v, now
}

func TestRevokedTokensAreRefused(t *testing.T) {
	idp, v, now := introspecting(t)
	for name, token := range map[string]string{"a JWT": idp.Token("alice"), "an opaque token": idp.Opaque("alice")} {
		t.Run(name, func(t *testing.T) {
			before := idp.Introspections()
			for range 3 {
				p, err := v.Verify(t.Context(), token, "")
				if err != nil || p.GetSubject() != "corp:alice" || p.GetIssuer() != "corp" {
					t.Fatalf("%v, %v", p, err)
				}
			}
			if n := idp.Introspections() - before; n != 1 {
				t.Errorf("the issuer was asked %d times", n)
			}
			if every := v.Recheck(token); every != 30*time.Second {
				t.Errorf("it is verified again after %v", every)
			}
			idp.Revoke(token)
			now.advance(29 * time.Second)
			if _, err := v.Verify(t.Context(), token, ""); err != nil {
				t.Errorf("within max_age: %v", err)
			}
			now.advance(2 * time.Second)
			if _, err := v.Verify(t.Context(), token, ""); !errors.Is(err, authn.ErrToken) {
				t.Errorf("after max_age: %v", err)
			}
		})
	}
}

// TestNumbersOfClaimsStayAsTheyAreWritten: a policy for the claim 9007199254740993 is not one for ...992.
func TestNumbersOfClaimsStayAsTheyAreWritten(t *testing.T) {
	idp, v, _ := introspecting(t)
	claims := jwt.MapClaims{"account": map[string]any{"id": 9007199254740993}}
	for name, token := range map[string]string{"a JWT": idp.Token("alice", claims), "an opaque token": idp.Opaque("alice", claims)} {
		p, err := v.Verify(t.Context(), token, "")
		if got := string(canon.ValueJSON(p.GetClaims().GetFields()["account"])); err != nil || got != `{"id":9007199254740993}` {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestOpaqueTokensSayWhatJWTsSay: claims, tenants, roles, times and audiences of answers count as those of tokens.
func TestOpaqueTokensSayWhatJWTsSay(t *testing.T) {
	idp, v, now := introspecting(t)
	full := idp.Opaque("alice", jwt.MapClaims{
		"realm_access": map[string]any{"roles": []any{"finance"}}, "department": "sales", "scope": "a b", "token_use": "access_token",
	})
	p, err := v.Verify(t.Context(), full, "")
	if err != nil || fmt.Sprint(p.GetRoles()) != "[finance]" || p.GetClaims().GetFields()["department"].GetStringValue() != "sales" {
		t.Errorf("%v, %v", p, err)
	}
	for _, own := range []string{"active", "token_type", "token_use", "exp"} {
		if p.GetClaims().GetFields()[own] != nil {
			t.Errorf("the principal has the claim %s", own)
		}
	}
	if end := v.Expiry(full); end.Before(time.Now().Add(10 * time.Minute)) {
		t.Errorf("it expires at %v", end)
	}
	for _, none := range []jwt.MapClaims{{"exp": nil, "iat": nil}, {"exp": 0, "nbf": 0}} {
		endless := idp.Opaque("alice", none)
		if _, err := v.Verify(t.Context(), endless, ""); err != nil || !v.Expiry(endless).IsZero() {
			t.Errorf("%v: %v, it expires at %v", none, err, v.Expiry(endless))
		}
	}
	for name, change := range map[string]jwt.MapClaims{
		"another audience": {"aud": "billing"}, "no audience": {"aud": nil}, "no subject": {"sub": nil},
		"expired": {"exp": time.Now().Add(-time.Minute).Unix()}, "not yet": {"nbf": time.Now().Add(time.Hour).Unix()},
		"another issuer": {"iss": "https://elsewhere.example"}, "bound to a key": {"cnf": map[string]any{"jkt": "x"}},
		"a refresh token": {"token_use": "refresh_token"}, "another type": {"token_type": "DPoP"}, "times that are none": {"exp": "soon"},
	} {
		if p, err := v.Verify(t.Context(), idp.Opaque("alice", change), ""); !errors.Is(err, authn.ErrToken) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	if _, err := v.Verify(t.Context(), "unknown", ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("an unknown one: %v", err)
	}
	now.advance(11 * time.Minute)
	if _, err := v.Verify(t.Context(), full, ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("after its end: %v", err)
	}
}

// TestIssuersThatLie: nothing is accepted that the issuer has not clearly said of this token.
func TestIssuersThatLie(t *testing.T) {
	says := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
	}
	for _, row := range []struct {
		name    string
		answer  http.HandlerFunc
		refused bool // the token; otherwise nothing is known about it
	}{
		{name: "an error", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{name: "wrong client", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }},
		{name: "no JSON", answer: says("<html>active</html>")},
		{name: "a list", answer: says(`[{"active": true}]`)},
		{name: "null", answer: says("null")},
		{name: "nothing said", answer: says(`{}`)},
		{name: "active as a text", answer: says(`{"active": "true"}`)},
		{name: "a time out of range", answer: says(`{"active": true, "exp": 1e400}`)},
		{name: "10 MB", answer: says(`{"active": true, "x": "` + strings.Repeat("x", 10<<20) + `"}`)},
		{name: "broken off", answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte(`{"active": true}`))
		}},
		{name: "inactive", answer: says(`{"active": false, "sub": "alice"}`), refused: true},
		{name: "another audience", answer: says(`{"active": true, "aud": "billing"}`), refused: true},
		{name: "another issuer", answer: says(`{"active": true, "iss": "https://elsewhere.example"}`), refused: true},
		{name: "an issuer that is no text", answer: says(`{"active": true, "iss": 1}`), refused: true},
		{name: "another user", answer: says(`{"active": true, "sub": "bob"}`), refused: true},
		{name: "another type", answer: says(`{"active": true, "token_type": "refresh_token"}`), refused: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			idp, v, _ := introspecting(t)
			idp.Answer(row.answer)
			token := idp.Token("alice")
			if p, err := v.Verify(t.Context(), token, ""); err == nil || errors.Is(err, authn.ErrToken) != row.refused ||
				strings.Contains(err.Error(), token) {
				t.Errorf("a JWT: %v, %v", p, err)
			}
			if p, err := v.Verify(t.Context(), "opaque", ""); err == nil {
				t.Errorf("an opaque token: %v", p)
			}
		})
	}
	idp, v, _ := introspecting(t)
	idp.Answer(says(`{"active": true}`)) // all that RFC 7662 asks for
	if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err != nil {
		t.Errorf("a JWT that is active: %v", err)
	}
	if p, err := v.Verify(t.Context(), "opaque", ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("an opaque token without user and audience: %v, %v", p, err)
	}
}

// TestAnIssuerThatDoesNotAnswer: one question for many callers, who do not wait longer than they want, and none while the breaker is open.
func TestAnIssuerThatDoesNotAnswer(t *testing.T) {
	idp, v, _ := introspecting(t)
	free := make(chan struct{})
	idp.Answer(func(w http.ResponseWriter, r *http.Request) {
		<-free
		_, _ = w.Write([]byte(`{"active": true}`))
	})
	token := idp.Token("alice")
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if _, err := v.Verify(t.Context(), token, ""); err != nil {
				t.Error(err)
			}
		})
	}
	testpoll.Until(t, "the question", func() bool { return idp.Introspections() > 0 })
	close(free)
	all.Wait()
	if n := idp.Introspections(); n != 1 {
		t.Errorf("%d questions about one token", n)
	}
	idp.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	for range 20 {
		if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err == nil || errors.Is(err, authn.ErrToken) {
			t.Errorf("from an issuer that fails: %v", err)
		}
	}
	if n := idp.Introspections(); n > 8 {
		t.Errorf("%d questions to an issuer that fails", n)
	}
	if _, err := v.Verify(t.Context(), token, ""); err != nil {
		t.Errorf("a token that is known to be active: %v", err)
	}
}

func TestOpaqueTokensAreOneIssuers(t *testing.T) {
	first, second := bearertest.New(t), bearertest.New(t)
	a, b := first.Config(), second.Config()
	b.Name = "other"
	a.Introspection, b.Introspection = first.Introspection(), second.Introspection()
	if _, err := bearer.New([]bearer.Issuer{a, b}, bearer.Deps{Client: client(t), Log: discard}); err == nil {
		t.Error("two issuers have opaque tokens")
	}
	b.Introspection.Opaque = false
	v, _ := newVerifier(t, a, b)
	if o := v.Opaque(); o == nil || o.Recognizes(first.Token("alice")) || !o.Recognizes(first.Opaque("alice")) {
		t.Error("what the verifier recognizes")
	}
	a.Introspection.Opaque = false
	if v, _ = newVerifier(t, a); v.Opaque() != nil {
		t.Error("opaque tokens are recognized")
	}
	if _, err := v.Verify(t.Context(), first.Opaque("alice"), ""); !errors.Is(err, authn.ErrToken) || first.Introspections() != 0 {
		t.Errorf("an opaque token: %v", err)
	}
	for name, wrong := range map[string]bearer.Introspection{
		"no secret": {ClientID: "mesh"}, "no client": {MaxAge: time.Minute},
		"too old":   {ClientID: "mesh", ClientSecret: secret.New("x"), MaxAge: time.Hour},
		"no URL":    {ClientID: "mesh", ClientSecret: secret.New("x"), URL: "ftp://x"},
		"in clear":  {ClientID: "mesh", ClientSecret: secret.New("x"), URL: "http://idp.example/introspect"},
		"too often": {ClientID: "mesh", ClientSecret: secret.New("x"), MaxAge: time.Millisecond},
	} {
		a.Introspection = wrong
		if _, err := bearer.New([]bearer.Issuer{a}, bearer.Deps{Client: client(t), Log: discard}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
