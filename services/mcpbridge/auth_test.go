package mcpbridge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
)

// guarded is an MCP server behind something that checks credentials.
type guarded struct {
	*httptest.Server
	tools *toolServer

	mu        sync.Mutex
	allowed   func(*http.Request) bool
	challenge string // of a refusal
	calls     int    // of tools, that were let through
	refused   int    // calls of tools that were not
}

// eachGuarded runs a test against a guarded server over each transport of HTTP.
func eachGuarded(t *testing.T, run func(t *testing.T, g *guarded, s *mcpbridgev1.Server)) {
	for _, row := range []struct{ name, path string }{{"legacy", ""}, {"modern", ""}, {"sse", "/sse"}} {
		t.Run(row.name, func(t *testing.T) {
			g := &guarded{tools: newToolServer(), challenge: `Bearer error="invalid_token"`}
			g.tools.AddTool(mcp.NewTool("who"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.NewToolResultText(r.Header.Get("Authorization") + "|" + r.Header.Get("X-Key")), nil
			})
			h := map[string]func() http.Handler{"legacy": g.tools.legacy, "modern": g.tools.modern, "sse": g.tools.sse}[row.name]()
			g.Server = serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, h) }))
			run(t, g, &mcpbridgev1.Server{Id: "src_guarded", Name: "guarded", Url: g.URL + row.path})
		})
	}
}

func (g *guarded) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	isCall := strings.Contains(string(body), `"tools/call"`)
	g.mu.Lock()
	ok := g.allowed == nil || g.allowed(r)
	if isCall && ok {
		g.calls++
	} else if isCall {
		g.refused++
	}
	challenge := g.challenge
	g.mu.Unlock()
	if !ok {
		if challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	next.ServeHTTP(w, r)
}

// only lets requests through that have this Authorization header, and forgets what it counted.
func (g *guarded) only(header, challenge string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed = func(r *http.Request) bool { return r.Header.Get("Authorization") == header }
	g.challenge, g.calls, g.refused = challenge, 0, 0
}

func (g *guarded) counts() (calls, refused int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.calls, g.refused
}

// TestCredentialsOfAServer: each kind arrives with each request, and is nowhere in what comes back.
func TestCredentialsOfAServer(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	const secret = "${env:WINDLASS_TOOL_SECRET}"
	eachGuarded(t, func(t *testing.T, g *guarded, s *mcpbridgev1.Server) {
		b := newBridge(t)
		for _, row := range []struct {
			auth          *mcpbridgev1.Auth
			header, value string
			want          string
		}{
			{&mcpbridgev1.Auth{Kind: "api_key", Name: "X-Key", Secret: secret}, "X-Key", "hunter2-hunter2", "|***"},
			{&mcpbridgev1.Auth{Kind: "basic", Username: "ann", Secret: secret}, "Authorization", "Basic YW5uOmh1bnRlcjItaHVudGVyMg==", "Basic ***|"},
			{&mcpbridgev1.Auth{Kind: "bearer", Secret: secret}, "Authorization", "Bearer hunter2-hunter2", "Bearer ***|"},
		} {
			g.mu.Lock()
			g.allowed = func(r *http.Request) bool { return r.Header.Get(row.header) == row.value }
			g.mu.Unlock()
			s.Auth = row.auth
			if res := b.discover(t, s); len(res.GetTools()) == 0 {
				t.Errorf("%s: no tools", row.auth.GetKind())
			}
			if got := text(b.must(t, s, "who", `{}`)); got != row.want {
				t.Errorf("%s: the server got %q, want %q", row.auth.GetKind(), got, row.want)
			}
		}
	})
}

func TestCredentialsThatAreNotRight(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_LINES", "a\nb")
	for field, s := range map[string]*mcpbridgev1.Server{
		"server.auth":        {Command: []string{"x"}, Auth: &mcpbridgev1.Auth{Kind: "bearer", Secret: "x"}},
		"server.auth.secret": {Url: "http://x/", Auth: &mcpbridgev1.Auth{Kind: "bearer", Secret: "${env:WINDLASS_TOOL_LINES}"}},
		"server.auth.name":   {Url: "http://x/", Auth: &mcpbridgev1.Auth{Kind: "api_key", Name: "Mcp-Session-Id", Secret: "x"}},
	} {
		s.Id = "src_x"
		_, err := newBridge(t).Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
		if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
}

// tokenEndpoint issues tokens token-number-1, token-number-2 and so on.
func tokenEndpoint(t *testing.T) (address string, issued func() int) {
	t.Helper()
	var mu sync.Mutex
	n := 0
	srv := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if user, password, _ := r.BasicAuth(); user != "client" || password != "hunter2-hunter2" {
			http.Error(w, `{"error":"invalid_client"}`, http.StatusUnauthorized)
			return
		}
		n++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"token-number-%d","token_type":"bearer","expires_in":3600}`, n)
	}))
	return srv.URL, func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

func TestAccessTokensOfAServer(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-hunter2")
	eachGuarded(t, func(t *testing.T, g *guarded, s *mcpbridgev1.Server) {
		address, issued := tokenEndpoint(t)
		s.Auth = &mcpbridgev1.Auth{
			Kind: "oauth2_client_credentials", TokenUrl: address, ClientId: "client", Secret: "${env:WINDLASS_TOOL_SECRET}",
		}
		b := newBridge(t)
		const challenge = `Bearer error="invalid_token"`
		g.only("Bearer token-number-1", challenge)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, res, err := b.call(t.Context(), s, "who", `{}`); err != nil || text(res) != "Bearer ***|" {
					t.Errorf("called: %v %v", res, err)
				}
			})
		}
		all.Wait()
		if n := issued(); n != 1 {
			t.Errorf("%d tokens were requested for one server", n)
		}

		// Requests that call no tool are sent again with a new token.
		g.only("Bearer token-number-2", challenge)
		if res := b.discover(t, s); len(res.GetTools()) == 0 || issued() != 2 {
			t.Errorf("listed with a revoked token: %d tools, %d tokens", len(res.GetTools()), issued())
		}

		// A call is not. With a challenge it certainly did not run; without one it may have.
		for i, row := range []struct {
			challenge string
			want      faultv1.Reason
		}{
			{challenge, faultv1.Reason_REASON_TOOL_UNAVAILABLE},
			{"", faultv1.Reason_REASON_OUTCOME_UNKNOWN},
			{"Custom", faultv1.Reason_REASON_OUTCOME_UNKNOWN},
		} {
			g.only(fmt.Sprint("Bearer token-number-", i+3), row.challenge)
			_, _, err := b.call(t.Context(), s, "who", `{}`)
			if calls, refused := g.counts(); !fault.Is(err, row.want) || calls != 0 || refused != 1 {
				t.Errorf("challenge %q: got %v; %d calls, %d refused", row.challenge, err, calls, refused)
			}
			if strings.Contains(fmt.Sprint(err), "token-number") {
				t.Errorf("the error has the token: %v", err)
			}
			if got := text(b.must(t, s, "who", `{}`)); got != "Bearer ***|" {
				t.Errorf("the next call: %q", got)
			}
		}
		if strings.Contains(b.log.text(), "token-number") || strings.Contains(b.log.text(), "hunter2") {
			t.Errorf("the log has a secret: %s", b.log.text())
		}
	})
}

func TestATokenEndpointThatIsAway(t *testing.T) {
	t.Setenv("WINDLASS_TOOL_SECRET", "hunter2-wrong")
	eachGuarded(t, func(t *testing.T, g *guarded, s *mcpbridgev1.Server) {
		address, _ := tokenEndpoint(t)
		s.Auth = &mcpbridgev1.Auth{
			Kind: "oauth2_client_credentials", TokenUrl: address, ClientId: "client", Secret: "${env:WINDLASS_TOOL_SECRET}",
		}
		_, _, err := newBridge(t).call(t.Context(), s, "who", `{}`)
		if !fault.Is(err, faultv1.Reason_REASON_TOOL_UNAVAILABLE) || !strings.Contains(err.Error(), "token endpoint gave no token: status 401") {
			t.Errorf("got %v", err)
		}
		if calls, refused := g.counts(); calls+refused != 0 {
			t.Errorf("%d calls arrived without a token", calls+refused)
		}
	})
}
