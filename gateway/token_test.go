package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
)

// mcpStub records the callers of /mcp.
type mcpStub struct {
	mu      sync.Mutex
	callers []string
	header  http.Header
}

func (m *mcpStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.callers, m.header = append(m.callers, authn.From(r.Context()).GetSubject()), r.Header.Clone()
	w.WriteHeader(http.StatusAccepted)
}

func (*mcpStub) Drain() {}

// lockedBuffer is a log that tests read.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// edge is a gateway that accepts the tokens of an issuer, and callers on this machine.
type edge struct {
	*server
	idp *bearertest.Issuer
	mcp *mcpStub
	log *lockedBuffer
}

func newEdge(t *testing.T) *edge {
	t.Helper()
	e := &edge{idp: bearertest.New(t), mcp: &mcpStub{}, log: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(io.MultiWriter(e.log), &slog.HandlerOptions{Level: slog.LevelDebug}))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v, err := bearer.New([]bearer.Issuer{e.idp.Config()}, bearer.Deps{
		Client: &http.Client{Timeout: 5 * time.Second, Transport: transport}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.server = serve(t, func(c *gateway.Config, d *gateway.Deps) {
		c.URL = "" // that of the listener
		d.Authenticator = authn.NewAuthenticator([]authn.TokenVerifier{v}, []authn.PeerVerifier{authn.Loopback{}})
		d.MCP, d.Log = e.mcp, log
	})
	return e
}

func TestS1TokensAtTheGateway(t *testing.T) {
	e := newEdge(t)
	attacks := append(e.idp.Attacks(), bearertest.Attack{Name: "no token", Token: ""}, bearertest.Attack{Name: "text", Token: "a b"},
		bearertest.Attack{Name: "a mesh token's form", Token: "eyJhbGciOiJIUzI1NiJ9.e30.x"})
	bodies := map[string]bool{}
	for _, a := range attacks {
		for _, call := range [][2]string{
			{"GET", "/v1/agents"},
			{"GET", "/v1/me"},
			{"POST", "/v1/sessions"},
			{"GET", "/v1/turns/trn_1/events"},
			{"GET", "/v1/events"},
			{"POST", "/mcp"},
			{"GET", "/mcp"},
		} {
			got := e.do(call[0], call[1], "", "Authorization", "Bearer "+a.Token)
			if got.status != http.StatusUnauthorized || !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: %v: status %d, %v: %s", a.Name, call, got.status, got.header, got.body)
				continue
			}
			p := got.problem(t)
			p.Instance, p.TraceID, p.RequestID = "", "", ""
			bodies[fmt.Sprint(p)] = true
		}
	}
	if len(bodies) != 1 {
		t.Errorf("the bodies tell refusals apart: %v", bodies)
	}
	if e.up.request() != nil || len(e.mcp.callers) > 0 {
		t.Errorf("refused calls reached a role: %v, %v", e.up.request(), e.mcp.callers)
	}
}

func TestATokenNamesTheCaller(t *testing.T) {
	e := newEdge(t)
	auth := "Bearer " + e.idp.Token("alice", jwt.MapClaims{"realm_access": map[string]any{"roles": []string{"finance"}}})
	if a := e.do("GET", "/v1/agents", "", "Authorization", auth); a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	if p := e.up.principal; p.GetSubject() != "corp:alice" || !slices.Equal(p.GetRoles(), []string{"finance"}) || p.GetIssuer() != "corp" {
		t.Errorf("the role saw %v", p)
	}
	if me := e.do("GET", "/v1/me", "", "Authorization", auth).json(t); me["subject"] != "corp:alice" || me["tenant"] != "default" {
		t.Errorf("me = %v", me)
	}
	if me := e.do("GET", "/v1/me", "").json(t); me["subject"] != "local" {
		t.Errorf("without a token: me = %v", me)
	}
	if a := e.do("POST", "/mcp", "{}", "Authorization", auth); a.status != http.StatusAccepted || e.mcp.callers[0] != "corp:alice" {
		t.Errorf("MCP: status %d as %v", a.status, e.mcp.callers)
	}
	// A token also works where the caller is no local one: another host, or through a proxy.
	elsewhere := []string{"Host", "windlass.example.com", "X-Forwarded-For", "192.0.2.1"}
	if a := e.do("GET", "/v1/agents", "", append(elsewhere, "Authorization", auth)...); a.status != 200 {
		t.Errorf("from elsewhere: status %d: %s", a.status, a.body)
	}
	if a := e.do("GET", "/v1/agents?access_token="+strings.TrimPrefix(auth, "Bearer "), "", "Host", "windlass.example.com"); a.status != 401 {
		t.Errorf("in the query: status %d: %s", a.status, a.body)
	}
}

func TestS2AFloodAtTheGateway(t *testing.T) {
	e := newEdge(t)
	good := "Bearer " + e.idp.Token("alice")
	if a := e.do("GET", "/v1/me", "", "Authorization", good); a.status != http.StatusOK {
		t.Fatalf("status %d: %s", a.status, a.body)
	}
	e.idp.SetDown(true)
	for range 200 {
		bad := bearertest.Sign(t, jwt.SigningMethodHS256, []byte("x"), e.idp.Claims("mallory"), map[string]any{"alg": "RS256", "kid": "nope"})
		if a := e.do("GET", "/v1/me", "", "Authorization", "Bearer "+bad); a.status != http.StatusUnauthorized {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
	}
	if n := e.idp.Fetches(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if a := e.do("GET", "/v1/me", "", "Authorization", "Bearer "+e.idp.Token("bob")); a.status != http.StatusOK {
		t.Errorf("a known key while the issuer is down: status %d: %s", a.status, a.body)
	}
}

func TestAnIssuerThatWasNeverReachedIsNoRefusal(t *testing.T) {
	e := newEdge(t)
	e.idp.SetDown(true)
	if a := e.do("GET", "/v1/me", "", "Authorization", "Bearer "+e.idp.Token("alice")); a.status != 503 || a.header.Get("Retry-After") == "" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestS3ATokenGoesNoFurtherThanTheGateway(t *testing.T) {
	e := newEdge(t)
	token := e.idp.Token("alice")
	parts := strings.Split(token, ".")
	for _, path := range []string{"/v1/agents", "/v1/agents/a", "/v1/turns/trn_1/events", "/v1/nope"} {
		e.do("GET", path, "", "Authorization", "Bearer "+token)
		for key, values := range e.up.metadata {
			if key == "authorization" || strings.Contains(strings.Join(values, " "), parts[1]) {
				t.Errorf("%s: the token reached a role in %s", path, key)
			}
		}
	}
	e.do("POST", "/mcp", "{}", "Authorization", "Bearer "+token)
	if e.mcp.header.Get("Authorization") != "" {
		t.Error("the token reached MCP")
	}
	e.do("GET", "/v1/agents", "", "Authorization", "Bearer "+token+"x") // refused, which is logged at debug level
	log := e.log.String()
	if !strings.Contains(log, "not authenticated") {
		t.Errorf("the refusal is not in the log: %s", log)
	}
	for _, part := range parts[1:] {
		if strings.Contains(log, part) {
			t.Errorf("the log holds a part of the token: %s", log)
		}
	}
}
