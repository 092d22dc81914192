package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/services/policy/connection/idptest"
	"github.com/windlass-dev/windlass/test/harness"
)

// protected is an MCP server that says itself where its users log in (RFC 9728).
func protected(t *testing.T, idp *idptest.Server) string {
	t.Helper()
	tools := server.NewMCPServer("crm", "1")
	tools.AddTool(mcp.NewTool("whoami"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("you are " + idp.UserOf(&http.Request{Header: r.Header})), nil
	})
	handler := server.NewStreamableHTTPServer(tools)
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
			_ = json.NewEncoder(w).Encode(map[string]any{
				"resource": s.URL + "/mcp", "authorization_servers": []string{idp.URL}, "scopes_supported": []string{"contacts"},
			})
		case idp.UserOf(r) == "":
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", s.URL+"/.well-known/oauth-protected-resource/mcp"))
			w.WriteHeader(http.StatusUnauthorized)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		s.CloseClientConnections() // the bridge listens for notifications until the mesh stops, which is later
		s.Close()
	})
	return s.URL + "/mcp"
}

// TestUsersConnectAnMCPServer: an MCP server says itself where its users log in, and Windlass registers there. Each user has a session of
// their own, and a token that the server refuses is refreshed without them.
func TestUsersConnectAnMCPServer(t *testing.T) {
	t.Parallel()
	p := newLogins(t)
	idp := idptest.New(t, "unused")
	idp.Iss = idp.URL
	p.logIn("alice")
	connect := func(user, subject string) {
		t.Helper()
		address, wait := p.connectCommand(user, "crm")
		w := newWeb(t)
		to := w.consent(address, subject, "crm", "contacts")
		status, page, done := w.get(p.Client.Base + "/connect/callback?" + idp.Approve(t, to.String(), user).Encode())
		if status != http.StatusSeeOther || done.Path != "/connect/done" {
			t.Fatalf("callback: %d %s", status, page)
		}
		if out := wait(); !strings.Contains(out, "connected to crm at "+idp.URL) {
			t.Errorf("the command says %q", out)
		}
	}
	source := p.Client.Must("POST", "/v1/sources", harness.JSON{
		"name": "crm", "kind": "mcp", "url": protected(t, idp), "auth": harness.JSON{"kind": "oauth2_authorization_code"},
	})
	if text := fmt.Sprint(source["last_error"]); !strings.Contains(text, "you have not connected source") {
		t.Errorf("before it is connected: %v", source)
	}
	connect("local", "local") // whose login lists the tools, as the creator's
	testpoll.Until(t, "the tools are listed", func() bool {
		return strings.Contains(fmt.Sprint(p.Client.Must("GET", "/v1/tools", nil)), "crm__whoami")
	})
	invoke := func(user string) (string, error) {
		out, err := p.windlass(user, "tool", "invoke", "crm__whoami").CombinedOutput()
		return string(out), err
	}
	if out, err := invoke("alice"); err == nil || !strings.Contains(out, "you have not connected source") {
		t.Errorf("alice, before she connected it: %v %s", err, out)
	}
	connect("alice", "dev:alice")
	for range 2 {
		for _, user := range []string{"alice", "local"} {
			if out, err := invoke(user); err != nil || !strings.Contains(out, "you are "+user) {
				t.Errorf("%s: %v %s", user, err, out)
			}
		}
		idp.Expire("alice") // the next call refreshes it
	}
	idp.End("alice")
	out, err := invoke("alice")
	if err == nil || !strings.Contains(out, "your login at source") || !strings.Contains(out, "/connect?source=crm") {
		t.Errorf("after alice's login ended: %v %s", err, out)
	}
	if out, err := invoke("local"); err != nil || !strings.Contains(out, "you are local") {
		t.Errorf("local, after alice's login ended: %v %s", err, out)
	}
	for _, s := range idp.Secrets() {
		if strings.Contains(p.Log(), s) {
			t.Errorf("the log has %s", s)
		}
	}
	idp.End("local")
	status, answer, err := p.Client.Do(t.Context(), "POST", "/mcp", harness.JSON{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": harness.JSON{"name": "crm__whoami", "arguments": harness.JSON{}},
	}, "Accept", "application/json, text/event-stream")
	if err != nil || !strings.Contains(fmt.Sprint(answer), p.Client.Base+"/connect?source=crm&user=local") {
		t.Errorf("an MCP client gets %d %v %v", status, answer, err)
	}
}
