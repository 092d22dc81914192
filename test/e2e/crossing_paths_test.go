package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
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

const (
	part     = "a part of other paths"
	inTheAPI = "below it is the API, which has a test of its own"
	inMCP    = "MCP has a test of its own"
)

// otherPaths are the paths in the source of the gateway that are not of the OpenAPI description. A new one fails TestS13 until it is here.
var otherPaths = map[string]otherPath{
	"/": gets(same, "/"), "/sessions/": gets(same, "/sessions/{session}"), "/turns/": gets(same, "/turns/{turn}", "/turns/{waiting}"),
	"/assets/": gets(same, "/assets/app.js", "/assets/app.css", "/assets/icon.svg"), "inbox": gets(same, "/inbox"),
	"/openapi.json": gets(same, "/openapi.json"), "/openapi.client.json": gets(same, "/openapi.client.json"),
	"/healthz": gets(same, "/healthz"), "/readyz": gets(same, "/readyz"), "/metrics": denies("GET", "/metrics", ""),
	"/debug/kill": denies("POST", "/debug/kill", "{}"),
	"/connect": gets(same, "/connect", "/connect?source={source}", "/connect?source={source}&user={subject}",
		"/connect/{source}", "/connect/{session}"),
	"/callback": gets(same, "/connect/callback?state={session}&code=x"), "/client.json": gets(same, "/connect/client.json"),
	"/style.css": gets(same, "/connect/style.css"), "/done": gets(same, "/connect/done"),
	"/login": unasked("it sends browsers to the issuer"), "/login/callback": gets(same, "/login/callback?state={session}&code=x"),
	"/logout":         unasked("it ends the login of the browser's cookie"),
	"/temporal/codec": unasked(part), "/encode": unasked("it needs what decoding needs"),
	"/decode": denies("POST", "/temporal/codec/decode", `{"payloads":[]}`),
	"/.well-known/oauth-protected-resource": gets(same, "/.well-known/oauth-protected-resource",
		"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp/{source}"),
	"/v1/": unasked(inTheAPI), "/events": unasked(part), "/v1/events": unasked(part), "/events:watch": unasked(part),
	"/mcp": unasked(inMCP), "/orchestrator": unasked(inMCP), "/inbox": gets(same, "/inbox"),
	"/temporal/ui/": unasked("it redirects to Temporal's UI, which is for operators and has tests of its own"),
}

// elsewhere are packages of the gateway that serve no paths but those of the API.
var elsewhere = []string{"gen", "openapi", "rest", "sse", "codec", "eventjson", "app", "dist", "testdata"}

// pathsOf returns what looks like a path in the source of the gateway.
func pathsOf(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	root := filepath.Join(harness.Root(t), "gateway")
	harness.Must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(elsewhere, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " {") {
					all[text] = path
				}
			}
			return true
		})
		return nil
	}))
	return all
}

// TestS13PathsOutsideTheAPI: pages and documents are the same for everybody, and what shows objects of all tenants is for operators.
func TestS13PathsOutsideTheAPI(t *testing.T) {
	t.Parallel()
	x := newCrossingHTTP(t)
	before := x.state()
	for path, file := range pathsOf(t) {
		if _, known := otherPaths[path]; !known && path != "//" {
			t.Errorf("%s is in %s, and not in otherPaths: say how to request it with IDs of another tenant", path, file)
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
