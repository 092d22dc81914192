package bearer_test

import (
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
)

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// client is an HTTP client whose connections end with the test.
func client(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: 5 * time.Second, Transport: transport}
}

func newVerifier(t testing.TB, issuers ...bearer.Issuer) (*bearer.Verifier, *clock) {
	t.Helper()
	c := &clock{now: time.Now()}
	v, err := bearer.New(issuers, bearer.Deps{
		Client: client(t), Log: slog.New(slog.DiscardHandler), Now: c.time,
	})
	if err != nil {
		t.Fatal(err)
	}
	return v, c
}

func TestS1TokensThatAreRefused(t *testing.T) {
	idp := bearertest.New(t)
	v, _ := newVerifier(t, idp.Config())
	if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err != nil {
		t.Fatalf("a valid token: %v", err)
	}
	for _, a := range idp.Attacks() {
		t.Run(a.Name, func(t *testing.T) {
			p, err := v.Verify(t.Context(), a.Token, "")
			if !errors.Is(err, authn.ErrToken) {
				t.Fatalf("accepted as %v, %v", p, err)
			}
			if strings.Contains(err.Error(), a.Token) {
				t.Errorf("the error holds the token: %v", err)
			}
		})
	}
}

func TestTokensThatAreAccepted(t *testing.T) {
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.Algorithms = []string{"RS256", "ES256"}
	v, now := newVerifier(t, cfg)
	at := func(d time.Duration) int64 { return now.time().Add(d).Unix() }
	for name, claims := range map[string]jwt.MapClaims{
		"a clock that is behind":     {"iat": at(20 * time.Second), "nbf": at(20 * time.Second)},
		"just expired":               {"exp": at(-20 * time.Second)},
		"several audiences":          {"aud": []string{"other", bearertest.Audience}},
		"one audience":               {"aud": bearertest.Audience},
		"Keycloak's, with a nonce":   {"typ": "Bearer", "nonce": "x"},
		"Cognito's":                  {"token_use": "access"},
		"roles that are not strings": {"realm_access": map[string]any{"roles": []any{1, nil, "ok"}}},
	} {
		if _, err := v.Verify(t.Context(), idp.Token("alice", claims), ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	idp.RotateEC()
	now.advance(31 * time.Second)
	if _, err := v.Verify(t.Context(), idp.Token("alice"), ""); err != nil {
		t.Errorf("ES256: %v", err)
	}
}

func TestPrincipal(t *testing.T) {
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.TenantClaim, cfg.Tenants, cfg.Roles = `https://x\.org/tenant`, []string{"acme", "globex"}, []string{"fin*", "admin", "local"}
	v, _ := newVerifier(t, cfg)
	claims := jwt.MapClaims{
		"https://x.org/tenant": "acme", "department": "finance",
		"realm_access": map[string]any{"roles": []string{"finance", "admin", "local", "hidden", "admin"}},
	}
	p, err := v.Verify(t.Context(), idp.Token("alice", claims), "")
	if err != nil {
		t.Fatal(err)
	}
	if p.GetSubject() != "corp:alice" || p.GetTenant() != "acme" || p.GetIssuer() != "corp" ||
		!slices.Equal(p.GetRoles(), []string{"admin", "finance"}) {
		t.Errorf("principal = %v", p)
	}
	kept := p.GetClaims().AsMap()
	if kept["department"] != "finance" || kept["sub"] != "alice" || kept["exp"] != nil || kept["jti"] != nil {
		t.Errorf("claims = %v", kept)
	}
	for name, change := range map[string]jwt.MapClaims{
		"no tenant":                   {},
		"a tenant that is not a name": {"https://x.org/tenant": "a.>"},
		"a tenant of another issuer":  {"https://x.org/tenant": "default"},
		"a tenant that is a list":     {"https://x.org/tenant": []string{"acme"}},
		"huge claims":                 {"https://x.org/tenant": "acme", "groups": strings.Repeat("g", 9<<10)},
	} {
		if p, err := v.Verify(t.Context(), idp.Token("alice", change), ""); !errors.Is(err, authn.ErrToken) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}

// A token for one endpoint is accepted there and nowhere else, and one for the whole mesh everywhere.
func TestS3TokensForAResource(t *testing.T) {
	idp := bearertest.New(t) // on this machine
	v, _ := newVerifier(t, idp.Config())
	const mcp, here = "https://mesh.example.com/mcp", "http://127.0.0.1:8080/mcp"
	for _, row := range []struct {
		name     string
		audience any
		resource string
		want     bool
	}{
		{"for the mesh, at an endpoint", bearertest.Audience, mcp, true},
		{"for the mesh, where no endpoint is known", bearertest.Audience, "", true},
		{"for the endpoint", mcp, mcp, true},
		{"for several endpoints", []string{"https://mesh.example.com", mcp}, mcp, true},
		{"for an endpoint of this machine", here, here, true},
		{"for the endpoint above", "https://mesh.example.com", mcp, false},
		{"for the endpoint below", mcp + "/calculator", mcp, false},
		{"for an endpoint, where none is known", mcp, "", false},
		{"for an empty audience", "", "", false},
		{"for another server", "https://other.example.com/mcp", mcp, false},
		{"with a slash more", mcp + "/", mcp, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			token := idp.Token("alice", jwt.MapClaims{"aud": row.audience})
			for range 2 { // the second time from the cache
				if p, err := v.Verify(t.Context(), token, row.resource); (err == nil) != row.want || err != nil && !errors.Is(err, authn.ErrToken) {
					t.Errorf("got %v, %v", p, err)
				}
			}
		})
	}
}

// http://127.0.0.1:8080/mcp is another server on each machine, so an issuer elsewhere cannot mean this one.
func TestS3ALoopbackResourceOfADistantIssuer(t *testing.T) {
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.Issuer, cfg.JWKSURL = "https://id.example.com", idp.URL+"/keys"
	v, _ := newVerifier(t, cfg)
	token := func(audience string) string {
		return idp.Token("alice", jwt.MapClaims{"iss": cfg.Issuer, "aud": audience})
	}
	for _, resource := range []string{"http://127.0.0.1:8080/mcp", "http://localhost:8080/mcp", "http://[::1]:8080/mcp"} {
		if p, err := v.Verify(t.Context(), token(resource), resource); !errors.Is(err, authn.ErrToken) {
			t.Errorf("%s: %v, %v", resource, p, err)
		}
	}
	if _, err := v.Verify(t.Context(), token("https://mesh.example.com/mcp"), "https://mesh.example.com/mcp"); err != nil {
		t.Errorf("another resource: %v", err)
	}
}

func TestS5ScopesThatTokensNeed(t *testing.T) {
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.Scopes = []string{"mesh.use", "mesh.tools"}
	v, _ := newVerifier(t, cfg)
	for name, row := range map[string]struct {
		claims jwt.MapClaims
		want   bool
	}{
		"both":                       {jwt.MapClaims{"scope": "openid mesh.tools mesh.use"}, true},
		"both in scp":                {jwt.MapClaims{"scp": []string{"mesh.use", "mesh.tools"}}, true},
		"both in scp, as text":       {jwt.MapClaims{"scp": "mesh.use mesh.tools"}, true},
		"one":                        {jwt.MapClaims{"scope": "mesh.use"}, false},
		"none":                       {nil, false},
		"names that begin like them": {jwt.MapClaims{"scope": "mesh.use2 mesh.tools."}, false},
		"no text":                    {jwt.MapClaims{"scope": 1, "scp": []any{1, nil}}, false},
	} {
		_, err := v.Verify(t.Context(), idp.Token("alice", row.claims), "")
		missing := (*authn.ScopeError)(nil)
		if (err == nil) != row.want || err != nil && (!errors.As(err, &missing) || !slices.Equal(missing.Scopes, cfg.Scopes)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Who may not use the mesh at all is not told which scopes it needs.
	if _, err := v.Verify(t.Context(), idp.Token("alice", jwt.MapClaims{"aud": "billing-api"}), ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("another audience: %v", err)
	}
}

func TestSubjectsOfTwoIssuersDiffer(t *testing.T) {
	one, two := bearertest.New(t), bearertest.New(t)
	partner := two.Config()
	partner.Name = "partner"
	v, _ := newVerifier(t, one.Config(), partner)
	for idp, want := range map[*bearertest.Issuer]string{one: "corp:local", two: "partner:local"} {
		p, err := v.Verify(t.Context(), idp.Token("local"), "")
		if err != nil || p.GetSubject() != want || authn.IsLocal(p) {
			t.Errorf("got %v, %v, want %s", p, err, want)
		}
	}
	// The key of one issuer does not sign for the other.
	if p, err := v.Verify(t.Context(), one.Token("alice", jwt.MapClaims{"iss": two.URL}), ""); !errors.Is(err, authn.ErrToken) {
		t.Errorf("a token of one issuer in the name of the other: %v, %v", p, err)
	}
}

func TestConfiguration(t *testing.T) {
	good := bearer.Issuer{Name: "corp", Issuer: "https://id.example.com", Audiences: []string{"windlass"}}
	deps := bearer.Deps{Client: http.DefaultClient, Log: slog.New(slog.DiscardHandler)}
	if _, err := bearer.New([]bearer.Issuer{good}, deps); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*bearer.Issuer){
		"no name":              func(i *bearer.Issuer) { i.Name = "" },
		"a name with a colon":  func(i *bearer.Issuer) { i.Name = "a:b" },
		"no issuer":            func(i *bearer.Issuer) { i.Issuer = "" },
		"not encrypted":        func(i *bearer.Issuer) { i.Issuer = "http://id.example.com" },
		"keys not encrypted":   func(i *bearer.Issuer) { i.JWKSURL = "http://id.example.com/keys" },
		"a file":               func(i *bearer.Issuer) { i.JWKSURL = "file:///etc/keys" },
		"no audience":          func(i *bearer.Issuer) { i.Audiences = nil },
		"an empty audience":    func(i *bearer.Issuer) { i.Audiences = []string{""} },
		"a shared secret":      func(i *bearer.Issuer) { i.Algorithms = []string{"HS256"} },
		"no signature":         func(i *bearer.Issuer) { i.Algorithms = []string{"none"} },
		"a scope with a space": func(i *bearer.Issuer) { i.Scopes = []string{"a b"} },
		"a bad path":           func(i *bearer.Issuer) { i.RolesClaim = "a..b" },
		"two tenants":          func(i *bearer.Issuer) { i.TenantClaim, i.Tenant = "t", "acme" },
		"a bad tenant":         func(i *bearer.Issuer) { i.Tenant = "a.b" },
	} {
		bad := good
		change(&bad)
		if _, err := bearer.New([]bearer.Issuer{bad}, deps); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	again := good
	again.Name = "other"
	if _, err := bearer.New([]bearer.Issuer{good, again}, deps); err == nil {
		t.Error("a duplicate issuer: no error")
	}
	local := good
	local.Issuer, local.AllowHTTP = "http://id.internal", true
	if _, err := bearer.New([]bearer.Issuer{local}, deps); err != nil {
		t.Errorf("http where it is allowed: %v", err)
	}
}

func BenchmarkVerify(b *testing.B) {
	idp := bearertest.New(b)
	v, _ := newVerifier(b, idp.Config())
	token := idp.Token("alice")
	for b.Loop() {
		if _, err := v.Verify(b.Context(), token, ""); err != nil {
			b.Fatal(err)
		}
	}
}
