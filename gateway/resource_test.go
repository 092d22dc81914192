package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const wellKnown = "/.well-known/oauth-protected-resource"

// resources serves a gateway with this URL and two issuers, for callers without tokens that it knows.
func resources(t *testing.T, url string, change func(*gateway.Config, *gateway.Deps)) *server {
	t.Helper()
	return serve(t, func(c *gateway.Config, d *gateway.Deps) {
		c.URL, c.Issuers = url, []string{"https://id.example.com", "https://id.example.org/realms/x"}
		d.MCP, d.Authenticator = &mcpStub{}, nil
		if change != nil {
			change(c, d)
		}
	})
}

func TestS5TheDocumentsAboutResources(t *testing.T) {
	const document = `{"resource":"https://mesh.example.com%s","authorization_servers":["https://id.example.com",` +
		`"https://id.example.org/realms/x"],%s"bearer_methods_supported":["header"],"resource_name":"Windlass%s"}`
	plain := resources(t, "https://mesh.example.com/", nil)
	scoped := resources(t, "https://mesh.example.com", func(c *gateway.Config, _ *gateway.Deps) {
		c.Scopes = []string{"mesh.tools", "mesh.use"}
	})
	for part, name := range map[string]string{
		"": "", "/mcp": ": tools", "/mcp/orchestrator": ": agents", "/mcp/calculator": ": tools of calculator",
		"/mcp/n.o-t_1": ": tools of n.o-t_1",
	} {
		a := plain.do("GET", wellKnown+part, "", "Host", "evil.example.com", "X-Forwarded-Host", "evil.example.com")
		if want := fmt.Sprintf(document, part, "", name); a.status != 200 || string(a.body) != want {
			t.Errorf("%q: %d %s, want %s", part, a.status, a.body, want)
		}
		if a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("%q: %v", part, a.header)
		}
		want := fmt.Sprintf(document, part, `"scopes_supported":["mesh.tools","mesh.use"],`, name)
		if a := scoped.do("GET", wellKnown+part, ""); string(a.body) != want {
			t.Errorf("%q with scopes: %s, want %s", part, a.body, want)
		}
	}
	for _, other := range []string{"/x", "x", "/", "/mcp/", "/mcp/a/b", "/mcp/a%22b", "/mcp/" + strings.Repeat("a", 65), "/v1", "/mcpx"} {
		if a := plain.do("GET", wellKnown+other, ""); a.status != 404 {
			t.Errorf("%s: %d %s", other, a.status, a.body)
		}
	}
	if a := plain.do("POST", wellKnown, "{}"); a.status != 405 {
		t.Errorf("POST: %d", a.status)
	}
	ask := plain.do("OPTIONS", wellKnown+"/mcp", "", "Origin", "https://app.example.com", "Access-Control-Request-Method", "GET",
		"Access-Control-Request-Headers", "mcp-protocol-version")
	if ask.status != 204 || ask.header.Get("Access-Control-Allow-Headers") != "MCP-Protocol-Version" {
		t.Errorf("a page's preflight: %d %v", ask.status, ask.header)
	}
	if a := serve(t, nil).do("GET", wellKnown, ""); a.status != 404 {
		t.Errorf("without issuers: %d %s", a.status, a.body)
	}
	alone := resources(t, "https://mesh.example.com", func(_ *gateway.Config, d *gateway.Deps) { d.MCP = nil })
	if a := alone.do("GET", wellKnown+"/mcp", ""); a.status != 404 {
		t.Errorf("without MCP: %d %s", a.status, a.body)
	}
}

// Everybody who is refused learns where tokens come from, and nothing else.
func TestS5Challenges(t *testing.T) {
	s := resources(t, "https://mesh.example.com", nil)
	at := func(part string) string {
		return `resource_metadata="https://mesh.example.com` + wellKnown + part + `"`
	}
	bodies := map[string]bool{}
	for _, call := range []struct{ method, path, part string }{
		{"GET", "/v1/agents", ""},
		{"POST", "/v1/sessions", ""},
		{"GET", "/v1/turns/trn_1/events", ""},
		{"POST", "/mcp", "/mcp"},
		{"GET", "/mcp", "/mcp"},
		{"POST", "/mcp/calculator", "/mcp/calculator"},
		{"POST", "/mcp/orchestrator", "/mcp/orchestrator"},
		{"DELETE", "/mcp", "/mcp"},
		{"POST", "/mcp/a/b", ""},
	} {
		for _, row := range []struct{ name, header, want string }{
			{"no token", "", "Bearer " + at(call.part)},
			{"a token", "Bearer abc", `Bearer error="invalid_token", ` + at(call.part)},
			{"a JWT", "bearer a.b.c", `Bearer error="invalid_token", ` + at(call.part)},
			{"a password", "Basic YTpi", "Bearer " + at(call.part)},
		} {
			header := []string{"Host", "evil.example.com", "X-Forwarded-Proto", "http"}
			if row.header != "" {
				header = append(header, "Authorization", row.header)
			}
			a := s.do(call.method, call.path, "", header...)
			if got := a.header.Values("WWW-Authenticate"); a.status != 401 || len(got) != 1 || got[0] != row.want {
				t.Errorf("%v with %s: %d %q, want %q", call, row.name, a.status, got, row.want)
			}
			if p := a.problem(t); row.header != "" {
				p.Instance, p.TraceID, p.RequestID = "", "", ""
				bodies[fmt.Sprint(p)] = true
			}
		}
	}
	if len(bodies) != 1 {
		t.Errorf("the bodies tell refusals apart: %v", bodies)
	}
}

// The gateway's address is what the configuration says. Only on loopback, where it has several names, the client's choice counts.
func TestS5WhichURLsAreNamed(t *testing.T) {
	for _, row := range []struct{ name, url, host, want string }{
		{"a proxy's name", "https://mesh.example.com", "mesh.example.com", "https://mesh.example.com"},
		{"another name", "https://mesh.example.com", "evil.example.com", "https://mesh.example.com"},
		{"loopback behind a proxy", "https://mesh.example.com", "127.0.0.1:8080", "https://mesh.example.com"},
		{"localhost", "http://127.0.0.1:8080", "localhost:8080", "http://localhost:8080"},
		{"the same address", "http://127.0.0.1:8080", "127.0.0.1:8080", "http://127.0.0.1:8080"},
		{"IPv6", "http://127.0.0.1:8080", "[::1]:8080", "http://[::1]:8080"},
		{"another port", "http://127.0.0.1:8080", "localhost:9090", "http://127.0.0.1:8080"},
		{"no port", "http://127.0.0.1:8080", "localhost", "http://127.0.0.1:8080"},
		{"a name below localhost", "http://127.0.0.1:8080", "a.localhost:8080", "http://127.0.0.1:8080"},
		{"a name made to point here", "http://127.0.0.1:8080", "evil.example.com:8080", "http://127.0.0.1:8080"},
		{"no URL, on this machine", "", "localhost:8080", "http://localhost:8080"},
		{"no URL, elsewhere", "", "evil.example.com", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := resources(t, row.url, nil)
			want := "Bearer"
			if row.want != "" {
				want += ` resource_metadata="` + row.want + wellKnown + `/mcp"`
			}
			if got := s.do("POST", "/mcp", "{}", "Host", row.host).header.Get("WWW-Authenticate"); got != want {
				t.Errorf("challenge %q, want %q", got, want)
			}
			a := s.do("GET", wellKnown+"/mcp", "", "Host", row.host)
			if row.want == "" {
				if a.status != 404 {
					t.Errorf("%d %s", a.status, a.body)
				}
				return
			}
			if got := a.json(t)["resource"]; got != row.want+"/mcp" {
				t.Errorf("resource %v", got)
			}
		})
	}
}

func TestS3TokensAreAcceptedAtTheirResource(t *testing.T) {
	e := newEdge(t)
	host := strings.TrimPrefix(e.url, "http://")
	local := "http://localhost:" + host[strings.LastIndex(host, ":")+1:]
	g := func(audience, path string, header ...string) int {
		t.Helper()
		method := "GET"
		if strings.HasPrefix(path, "/mcp") {
			method = "POST"
		}
		token := e.idp.Token("alice", jwt.MapClaims{"aud": audience})
		a := e.do(method, path, "", append(header, "Authorization", "Bearer "+token)...)
		if (a.status == 401) != (a.header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s at %s: %d %v", audience, path, a.status, a.header)
		}
		return a.status
	}
	for _, row := range []struct {
		name, audience, path string
		header               []string
		want                 int
	}{
		{"for the mesh, at MCP", bearertest.Audience, "/mcp", nil, 202},
		{"for the mesh, at the API", bearertest.Audience, "/v1/agents", nil, 200},
		{"for MCP, at MCP", e.url + "/mcp", "/mcp", nil, 202},
		{"for MCP, at a source", e.url + "/mcp", "/mcp/calculator", nil, 401},
		{"for MCP, at the orchestrator", e.url + "/mcp", "/mcp/orchestrator", nil, 401},
		{"for MCP, at the API", e.url + "/mcp", "/v1/agents", nil, 401},
		{"for a source, there", e.url + "/mcp/calculator", "/mcp/calculator", nil, 202},
		{"for a source, at another", e.url + "/mcp/calculator", "/mcp/notes", nil, 401},
		{"for a source, at MCP", e.url + "/mcp/calculator", "/mcp", nil, 401},
		{"for the orchestrator, there", e.url + "/mcp/orchestrator", "/mcp/orchestrator", nil, 202},
		{"for the API, there", e.url, "/v1/agents", nil, 200},
		{"for the API, at MCP", e.url, "/mcp", nil, 401},
		{"for localhost, by that name", local + "/mcp", "/mcp", []string{"Host", strings.TrimPrefix(local, "http://")}, 202},
		{"for localhost, by another name", local + "/mcp", "/mcp", nil, 401},
		{"for another server", "https://evil.example.com/mcp", "/mcp", []string{"Host", "evil.example.com"}, 401},
		{"for nobody", "", "/mcp", nil, 401},
	} {
		if got := g(row.audience, row.path, row.header...); got != row.want {
			t.Errorf("%s: %d, want %d", row.name, got, row.want)
		}
	}
}

// scopeless accepts all tokens and misses scopes.
type scopeless struct{ scopes []string }

func (scopeless) Recognizes(string) bool { return true }

func (s scopeless) Verify(context.Context, string, string) (*policyv1.Principal, error) {
	return nil, fmt.Errorf("verify: %w", &authn.ScopeError{Scopes: s.scopes})
}

func TestS5ATokenWithoutAScope(t *testing.T) {
	s := resources(t, "https://mesh.example.com", func(_ *gateway.Config, d *gateway.Deps) {
		d.Authenticator = authn.NewAuthenticator([]authn.TokenVerifier{scopeless{[]string{"mesh.tools", "mesh.use"}}}, nil)
	})
	for path, part := range map[string]string{"/mcp": "/mcp", "/mcp/notes": "/mcp/notes", "/v1/me": ""} {
		a := s.do("POST", path, "{}", "Authorization", "Bearer x")
		want := `Bearer error="insufficient_scope", resource_metadata="https://mesh.example.com` + wellKnown + part +
			`", scope="mesh.tools mesh.use"`
		if got := a.header.Get("WWW-Authenticate"); a.status != http.StatusForbidden || got != want {
			t.Errorf("%s: %d %q, want %q", path, a.status, got, want)
		}
	}
}

// unreachable cannot verify tokens.
type unreachable struct{}

func (unreachable) Recognizes(string) bool { return true }

func (unreachable) Verify(context.Context, string, string) (*policyv1.Principal, error) {
	return nil, errors.New("the issuer is down")
}

func TestOtherRefusalsAreNoChallenges(t *testing.T) {
	s := resources(t, "https://mesh.example.com", func(_ *gateway.Config, d *gateway.Deps) {
		d.Authenticator = authn.NewAuthenticator([]authn.TokenVerifier{unreachable{}}, nil)
	})
	for want, header := range map[int][]string{
		503: {"Authorization", "Bearer x"},
		403: {"Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site"},
	} {
		if a := s.do("POST", "/mcp", "{}", header...); a.status != want || a.header.Get("WWW-Authenticate") != "" {
			t.Errorf("%v: %d %v", header, a.status, a.header)
		}
	}
}

// With mcp_login a connection from this machine is not enough for MCP, and still is for the API.
func TestMCPClientsHaveToLogIn(t *testing.T) {
	s := resources(t, "https://mesh.example.com", func(c *gateway.Config, d *gateway.Deps) {
		c.MCPLogin, d.Authenticator = true, authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}})
	})
	for _, path := range []string{"/mcp", "/mcp/calculator", "/mcp/orchestrator"} {
		if a := s.do("POST", path, "{}"); a.status != 401 || !strings.Contains(a.header.Get("WWW-Authenticate"), wellKnown+path+`"`) {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	if a := s.do("GET", "/v1/me", ""); a.status != 200 {
		t.Errorf("the API: %d %s", a.status, a.body)
	}
}
