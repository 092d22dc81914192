package e2e

import (
	"net/http"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
)

// otherPath says how TestS13 requests a path outside the API.
type otherPath struct {
	want     answer
	requests []sent
	// why it is not requested.
	why string
}

func gets(want answer, paths ...string) otherPath {
	o := otherPath{want: want}
	for _, path := range paths {
		o.requests = append(o.requests, sent{method: http.MethodGet, path: path})
	}
	return o
}

func denies(method, path, body string) otherPath {
	return otherPath{want: forbiddenPath, requests: []sent{{method: method, path: path, body: body}}}
}

func unasked(why string) otherPath { return otherPath{why: why} }

// forbiddenPath is 403: the path is of the mesh, not of a tenant.
const forbiddenPath answer = 100

// otherPaths are the patterns of the gateway's routes that are not of the OpenAPI description. A new one fails TestS13 until it is here.
var otherPaths = map[string]otherPath{
	"/": gets(same, "/"), "/inbox": gets(same, "/inbox"), "/inbox/{id}": gets(same, "/inbox/{waiting}"),
	"/sessions": gets(same, "/sessions"), "/sessions/{id}": gets(same, "/sessions/{session}"),
	"/turns": gets(same, "/turns"), "/turns/{id}": gets(same, "/turns/{turn}", "/turns/{waiting}"),
	"/shared/{id}": gets(same, "/shared/{session}"), "/agents": gets(same, "/agents"), "/agents/{id}": gets(same, "/agents/{session}"),
	"/tools": gets(same, "/tools"), "/tools/{id}": gets(same, "/tools/{session}"), "/sources": gets(same, "/sources"),
	"/sources/{id}": gets(same, "/sources/{source}"), "/knowledge": gets(same, "/knowledge"),
	"/knowledge/{id}": gets(same, "/knowledge/{session}"), "/access": gets(same, "/access"), "/usage": gets(same, "/usage"),
	"/system": gets(same, "/system"), "/api": gets(same, "/api"), "/ui": gets(same, "/ui"),
	"/assets/*":     gets(same, "/assets/app.js", "/assets/app.css", "/assets/icon.svg"),
	"/openapi.json": gets(same, "/openapi.json"), "/openapi.client.json": gets(same, "/openapi.client.json"),
	"/docs": gets(same, "/docs", "/docs?q=approval"), "/docs/": gets(same, "/docs/how-to/console", "/docs/{session}"),
	"/llms.txt": gets(same, "/llms.txt"), "/llms-full.txt": gets(same, "/llms-full.txt"),
	"/healthz": gets(same, "/healthz"), "/readyz": gets(same, "/readyz"), "/metrics": denies("GET", "/metrics", ""),
	"/debug/kill":       denies("POST", "/debug/kill", "{}"),
	"/connect":          gets(same, "/connect", "/connect?source={source}", "/connect?source={source}&user={subject}"),
	"/connect/{ticket}": gets(same, "/connect/{source}", "/connect/{session}"),
	"/connect/callback": gets(same, "/connect/callback?state={session}&code=x"), "/connect/client.json": gets(same, "/connect/client.json"),
	"/connect/style.css": gets(same, "/connect/style.css"), "/connect/done": gets(same, "/connect/done"),
	"/login": unasked("it sends browsers to the issuer"), "/login/callback": gets(same, "/login/callback?state={session}&code=x"),
	"/logout":                unasked("it ends the login of the browser's cookie"),
	"/temporal/codec/encode": unasked("it needs what decoding needs"),
	"/temporal/codec/decode": denies("POST", "/temporal/codec/decode", `{"payloads":[]}`),
	"/.well-known/oauth-protected-resource": gets(same, "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp/{source}"),
	"/v1/": unasked("below it is the API, which has a test of its own"), "/v1/shared/": unasked("it is of the API"),
	"/mcp":          unasked("MCP has a test of its own"),
	"/temporal/ui/": unasked("it redirects to Temporal's UI, which is for operators and has tests of its own"),
}

// TestS13PathsOutsideTheAPI: pages and documents are the same for everybody, and what shows objects of all tenants is for operators.
func TestS13PathsOutsideTheAPI(t *testing.T) {
	t.Parallel()
	x := newCrossingHTTP(t)
	before := x.state()
	for _, pattern := range gateway.Patterns() {
		if _, known := otherPaths[pattern]; !known {
			t.Errorf("%s is not in otherPaths: say how to request it with IDs of another tenant", pattern)
		}
	}
	for path, o := range otherPaths {
		if len(o.requests) == 0 && o.why == "" {
			t.Errorf("%s: why is it not requested?", path)
		}
		for _, s := range o.requests {
			x.cross(t, s, o.want)
			if status, got := x.do(x.carol, s, x.ids); o.want == forbiddenPath && status != http.StatusForbidden {
				t.Errorf("%s %s: %d %s, want 403", s.method, s.path, status, got)
			}
		}
	}
	if after := x.state(); after != before {
		t.Errorf("the objects were changed:\n%s\nwere\n%s", after, before)
	}
}
