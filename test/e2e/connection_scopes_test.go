package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/test/harness"
)

// scoped is an MCP server at /mcp whose tools "look", "write" and "never" want different scopes. "never" refuses everybody. Beside it is an
// API with a path "/write".
func scoped(t *testing.T) string {
	t.Helper()
	tools := server.NewMCPServer("crm", "1")
	for _, name := range []string{"look", "write", "never"} {
		tools.AddTool(mcp.NewTool(name), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			subject, _ := claims(r.Header)
			return mcp.NewToolResultText(name + " of " + subject), nil
		})
	}
	next := server.NewStreamableHTTPServer(tools)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(text))
		subject, scopes := claims(r.Header)
		wants := "openid"
		if r.URL.Path == "/write" || strings.Contains(string(text), `"write"`) || strings.Contains(string(text), `"never"`) {
			wants = "profile"
		}
		switch {
		case subject == "":
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
		case !slices.Contains(scopes, wants) || strings.Contains(string(text), `"never"`):
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=%q, scope=%q", "insufficient_scope", wants))
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/write":
			fmt.Fprint(w, "written by "+subject)
		default:
			next.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections() // the bridge listens for notifications until the mesh stops, which is later
		s.Close()
	})
	return s.URL
}

// claims reads the token of a request.
func claims(h http.Header) (subject string, scopes []string) {
	parts := strings.Split(h.Get("Authorization"), ".")
	if len(parts) != 3 {
		return "", nil
	}
	var c struct{ Sub, Scope string }
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &c) != nil {
		return "", nil
	}
	return c.Sub, strings.Fields(c.Scope)
}

// TestAServerWantsMoreScopes: a tool wants a scope that the user has not granted. A turn waits, also over a kill, and goes on when the user
// has granted it besides the others. A direct call says where to do that. A server that refuses a login with all it wants is not believed
// again.
func TestAServerWantsMoreScopes(t *testing.T) {
	t.Parallel()
	p := newConnecting(t)
	p.logIn("alice")
	p.logIn("bob")
	url, auth := scoped(t), harness.JSON{
		"kind": "oauth2_authorization_code", "issuer": p.issuer, "client_id": "crm-client", "scopes": []string{"openid"},
		"resource": "https://crm.example.com",
	}
	p.Client.Must("POST", "/v1/sources", harness.JSON{"name": "crm", "kind": "mcp", "url": url + "/mcp", "auth": auth})
	p.connectTo("local", "local", "alice", "crm", "openid") // whose login lists the tools
	testpoll.Until(t, "the tools are listed", func() bool {
		return strings.Contains(fmt.Sprint(p.Client.Must("GET", "/v1/tools", nil)), "crm__write")
	})
	p.Client.Must("POST", "/v1/agents", harness.JSON{"id": "clerk", "model": "builtin/scripted", "tools": []string{"crm__*"}})
	invoke := func(user, tool string) (string, error) {
		out, err := p.windlass(user, "tool", "invoke", "crm__"+tool, "--fresh").CombinedOutput()
		return string(out), err
	}
	chat := func(user, tool string) (turn, said string) {
		out, _ := p.windlass(user, "chat", "--agent", "clerk", "call:crm__"+tool+" {}").CombinedOutput()
		return regexp.MustCompile(`trn_\w+`).FindString(string(out)), string(out)
	}
	p.connect("alice", "crm", "openid")
	p.connect("bob", "crm", "openid")

	turn, said := chat("alice", "write")
	if !strings.Contains(said, "connect crm at "+p.Client.Base+"/connect?source=crm") || !strings.Contains(said, "it wants more: profile") {
		t.Errorf("alice's turn: %s", said)
	}
	for _, user := range []string{"alice", "bob"} {
		out, err := invoke(user, "write")
		if err == nil || !strings.Contains(out, "wants more than you granted: profile") || !strings.Contains(out, "/connect?source=crm") {
			t.Errorf("a direct call of %s: %v %s", user, err, out)
		}
		if out, err := invoke(user, "look"); err != nil || !strings.Contains(out, "look of "+user) {
			t.Errorf("another tool of %s: %v %s", user, err, out)
		}
	}
	status, answer, err := p.Client.Do(t.Context(), "POST", "/mcp", harness.JSON{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.JSON{"name": "crm__write", "arguments": harness.JSON{}},
	}, "Accept", "application/json, text/event-stream")
	text := fmt.Sprint(answer)
	if err != nil || !strings.Contains(text, "profile") || !strings.Contains(text, "/connect?source=crm&user=local") {
		t.Errorf("an MCP client gets %d %v %v", status, answer, err)
	}
	p.restart() // with kill -9
	p.connect("alice", "crm", "openid", "profile")
	if out := p.says("alice", "turn", "watch", turn); !strings.Contains(out, "write of alice") {
		t.Errorf("alice's turn: %s", out)
	}
	if out, err := invoke("alice", "write"); err != nil || !strings.Contains(out, "write of alice") {
		t.Errorf("a direct call: %v %s", err, out)
	}

	p.api(url, auth)

	const refused = "although your login has the scopes that it wants: profile"
	if out, err := invoke("alice", "never"); err == nil || !strings.Contains(out, refused) {
		t.Errorf("a tool that refuses everybody: %v %s", err, out)
	}
	if _, said := chat("alice", "never"); !strings.Contains(said, refused) || strings.Contains(said, "connect crm at") {
		t.Errorf("a turn with it: %s", said)
	}
}

// api: an HTTP API that wants more scopes is asked for again in the same way.
func (p *logins) api(url string, auth harness.JSON) {
	p.t.Helper()
	p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "api", "kind": "http", "base_url": url, "endpoints": []harness.JSON{{"name": "write", "path": "/write"}}, "auth": auth,
	})
	p.connect("bob", "api", "openid")
	out, err := p.windlass("bob", "tool", "invoke", "api__write", "--fresh").CombinedOutput()
	said := string(out)
	if err == nil || !strings.Contains(said, "wants more than you granted: profile") || !strings.Contains(said, "/connect?source=api") {
		p.t.Errorf("an API that wants more: %v %s", err, out)
	}
	p.connect("bob", "api", "openid", "profile")
	if out := p.says("bob", "tool", "invoke", "api__write", "--fresh"); !strings.Contains(out, "written by bob") {
		p.t.Errorf("an API that got more: %s", out)
	}
}
