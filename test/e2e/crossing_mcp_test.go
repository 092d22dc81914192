package e2e

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// mcpReaches are the methods of MCP that the mesh serves, by their names in the library, and requests with IDs of another tenant. A new
// one fails TestS13 until it is here. "modern" is the protocol without sessions.
var mcpReaches = map[string][]mcpReach{
	"MethodInitialize":     {{method: "initialize", params: `{"protocolVersion":"2025-11-25","capabilities":{}}`}},
	"MethodPing":           {{method: "ping"}},
	"MethodSetLogLevel":    {{method: "logging/setLevel", params: `{"level":"debug"}`}},
	"MethodServerDiscover": {{method: "server/discover", modern: true}},
	"MethodSubscriptionsListen": {{method: "subscriptions/listen", modern: true, params: `{"notifications":{"toolsListChanged":true,` +
		`"resourcesListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["{source}+file:///x"]}}`}},
	"MethodToolsList": {{method: "tools/list", want: nothing}, {method: "tools/list", modern: true, want: nothing}},
	"MethodToolsCall": {
		{method: "tools/call", params: `{"name":"{tool}","arguments":{}}`},
		{method: "tools/call", params: `{"name":"{tool}","arguments":{},"_meta":{"windlass/idempotency_key":"{key}"}}`},
		{method: "tools/call", params: `{"name":"mb","arguments":{}}`},
		{method: "tools/call", modern: true, params: `{"name":"{tool}","arguments":{}}`},
	},
	"MethodResourcesList":          {{method: "resources/list", want: nothing}},
	"MethodResourcesTemplatesList": {{method: "resources/templates/list", want: nothing}},
	"MethodResourcesRead":          {{method: "resources/read", params: `{"uri":"{source}+file:///x"}`}},
	"MethodResourcesSubscribe":     {{method: "resources/subscribe", params: `{"uri":"{source}+file:///x"}`}},
	"MethodResourcesUnsubscribe":   {{method: "resources/unsubscribe", params: `{"uri":"{source}+file:///x"}`}},
	"MethodPromptsList":            {{method: "prompts/list", want: nothing}},
	"MethodPromptsGet":             {{method: "prompts/get", params: `{"name":"{source}__greet"}`}},
	"MethodCompletionComplete": {{
		method: "completion/complete",
		params: `{"ref":{"type":"ref/prompt","name":"{source}__greet"},"argument":{"name":"a","value":"b"}}`,
	}},
}

// agentTools are the tools of the orchestrator, by name, and arguments with IDs of another tenant.
var agentTools = map[string][]string{
	"list_agents": {`{}`}, "start_session": {`{"agent_id":"{agent}","message":"x"}`},
	"send_message": {
		`{"session_id":"{session}","message":"x"}`, `{"session_id":"{session}","message":"x","mode":"steer"}`,
		`{"session_id":"{session}","message":"x","mode":"interrupt"}`,
	},
	"wait_for_turn": {`{"turn_id":"{turn}"}`, `{"turn_id":"{waiting}","wait_seconds":1}`}, "get_session": {`{"session_id":"{session}"}`},
	"list_sessions": {`{}`, `{"agent_id":"{agent}"}`, `{"children":true}`}, "cancel_turn": {`{"turn_id":"{waiting}"}`},
	"read_events": {`{"turn_id":"{turn}"}`}, "list_approvals": {`{}`},
	"decide_approval": {`{"approval_id":"{approval}","decision":"approve","arguments_hash":"x"}`},
}

type mcpReach struct {
	method, params string
	modern         bool
	want           answer
}

const (
	legacyMCP = "2025-11-25"
	modernMCP = "2026-07-28"
)

// request returns the request at an endpoint, in a session of the old protocol.
func (m mcpReach) request(endpoint, session string, header ...string) sent {
	params := harness.JSON{}
	if m.params != "" {
		_ = json.Unmarshal([]byte(m.params), &params) // the table is of this file, and an empty object is refused
	}
	version := legacyMCP
	if m.modern {
		version = modernMCP
		params["_meta"] = harness.JSON{
			"io.modelcontextprotocol/protocolVersion": modernMCP, "io.modelcontextprotocol/clientCapabilities": harness.JSON{},
		}
		header = append(header, "Mcp-Method", m.method)
		if name, ok := params["name"].(string); ok {
			header = append(header, "Mcp-Name", name)
		}
	} else if session != "" {
		header = append(header, "Mcp-Session-Id", session)
	}
	body, _ := json.Marshal(harness.JSON{"jsonrpc": "2.0", "id": 1, "method": m.method, "params": params})
	header = append(header, "Mcp-Protocol-Version", version, "Accept", "application/json, text/event-stream")
	return sent{method: http.MethodPost, path: endpoint, body: string(body), header: header}
}

// mcpMethods returns the names of the methods that the mesh serves, from its source.
func mcpMethods(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(),
		filepath.Join(harness.Root(t), "gateway", "mcp", "dispatch.go"), nil, 0)
	harness.Must(t, err)
	all := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f.Name.Name == "methods"
		}
		if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Method") {
			all[s.Sel.Name] = true
		}
		return true
	})
	if len(all) < 10 {
		t.Fatalf("the source has the methods %v", all)
	}
	return all
}

// TestS13NothingOfAnotherTenantOverMCP calls all methods at all endpoints, and all tools of the orchestrator, as an administrator of
// another tenant, with names and IDs of the first tenant's objects, within a session of its client.
func TestS13NothingOfAnotherTenantOverMCP(t *testing.T) {
	t.Parallel()
	x := newCrossingHTTP(t)
	before := x.state()
	session := x.mcpSession()
	known := mcpMethods(t)
	for name := range known {
		if len(mcpReaches[name]) == 0 {
			t.Errorf("%s is not in mcpReaches: say how to call it with IDs of another tenant", name)
		}
	}
	for name, all := range mcpReaches {
		if !known[name] {
			t.Errorf("%s is not served", name)
		}
		for _, endpoint := range []string{"/mcp", "/mcp/{source}", "/mcp/orchestrator"} {
			for _, m := range all {
				if m.method == "initialize" { // each session has an ID of its own
					if _, got := x.do(x.carol, m.request(endpoint, ""), x.ids); strings.Contains(got, canary) {
						t.Errorf("%s at %s shows something of another tenant: %s", m.method, endpoint, got)
					}
					continue
				}
				want := m.want
				if want == skipped || endpoint == "/mcp/{source}" {
					want = same
				}
				x.cross(t, m.request(endpoint, session), want)
			}
		}
	}
	for _, endpoint := range []string{"/mcp", "/mcp/{source}", "/mcp/orchestrator"} {
		x.cross(t, sent{method: http.MethodGet, path: endpoint, header: []string{
			"Mcp-Session-Id", session, "Mcp-Protocol-Version", legacyMCP, "Accept", "text/event-stream",
		}}, same)
	}
	x.crossOrchestrator(t, session)
	if after := x.state(); after != before {
		t.Errorf("the objects were changed:\n%s\nwere\n%s", after, before)
	}
}

// crossOrchestrator calls the tools with which MCP clients run agents.
func (x *crossingHTTP) crossOrchestrator(t *testing.T, session string) {
	t.Helper()
	_, listed := x.do(x.carol, mcpReach{method: "tools/list"}.request("/mcp/orchestrator", session), x.ids)
	for name, all := range agentTools {
		if !strings.Contains(listed, `"name":"`+name+`"`) {
			t.Errorf("there is no tool %s: %s", name, listed)
		}
		for _, arguments := range all {
			call := mcpReach{method: "tools/call", params: `{"name":"` + name + `","arguments":` + arguments + `}`}
			want := same
			if !strings.Contains(arguments, "{session}") && !strings.Contains(arguments, "{turn}") && !strings.Contains(arguments, "{waiting}") &&
				!strings.Contains(arguments, "{approval}") {
				want = nothing
			}
			x.cross(t, call.request("/mcp/orchestrator", session), want)
			x.cross(t, call.request("/mcp/orchestrator", session, "X-Agent-Session-Id", "{session}"), same)
		}
	}
	if n := strings.Count(listed, `"inputSchema"`); n != len(agentTools) {
		t.Errorf("there are %d tools, and %d in agentTools: say how to call them with IDs of another tenant", n, len(agentTools))
	}
}

// mcpSession returns the ID of a session of the first tenant's client.
func (x *crossingHTTP) mcpSession() string {
	x.t.Helper()
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, x.up.Client.Base+"/mcp", strings.NewReader(
		mcpReach{method: "initialize", params: `{"protocolVersion":"2025-11-25","capabilities":{}}`}.request("", "").body))
	harness.Must(x.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := x.up.Client.HTTP.Do(req)
	harness.Must(x.t, err)
	_ = resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		x.t.Fatalf("initialize: %s", resp.Status)
	}
	return id
}

// TestS13NobodyCancelsCallsOfAnotherTenant: a cancellation is of the caller who sends it, whatever ID of a session it says.
func TestS13NobodyCancelsCallsOfAnotherTenant(t *testing.T) {
	t.Parallel()
	x := newCrossingHTTP(t)
	called, release := make(chan struct{}), make(chan struct{})
	slow := newToolServer(t, map[string]string{"wait": "Waits"})
	slow.call = func(http.ResponseWriter, *http.Request, string) harness.JSON {
		close(called)
		<-release
		return said("waited", false)
	}
	x.up.Client.Must("POST", "/v1/sources", harness.JSON{"name": "s13slow", "kind": "mcp", "url": slow.URL + "/mcp"})
	alice, session, answer := x.logins.tokens("alice").AccessToken, x.mcpSession(), make(chan string, 1)
	go func() {
		_, got := x.do(alice, mcpReach{
			method: "tools/call", params: `{"name":"s13slow__wait","arguments":{}}`,
		}.request("/mcp", session), nil)
		answer <- got
	}()
	<-called
	cancel := sent{
		method: http.MethodPost, path: "/mcp", body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		header: []string{"Mcp-Session-Id", session, "Mcp-Protocol-Version", legacyMCP, "Accept", "application/json, text/event-stream"},
	}
	if status, got := x.do(x.carol, cancel, nil); status != http.StatusAccepted {
		t.Errorf("a cancellation: %d %s", status, got)
	}
	close(release)
	if got := <-answer; !strings.Contains(got, "waited") {
		t.Errorf("the call of the first tenant: %s", got)
	}
}
