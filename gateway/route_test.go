package gateway_test

import (
	"errors"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/libs/secret"
)

// awayIssuer is an issuer that does not answer.
type awayIssuer struct{}

func (awayIssuer) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New("away") }

// serveAll starts a gateway with every route.
func serveAll(t *testing.T) *server {
	t.Helper()
	return serve(t, func(c *gateway.Config, d *gateway.Deps) {
		text := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("served")) })
		c.TemporalUI, c.TemporalTarget, d.TemporalUI = "http://127.0.0.1:8233", "http://127.0.0.1:8234", http.DefaultTransport
		c.Issuers = []string{"https://id.example"}
		c.Login.Issuer, c.Login.ClientID = "https://id.example", "gateway"
		d.MCP, d.Payloads, d.Metrics, d.Connections, d.Kill = &mcpStub{}, text, text, d.Policy, func() {}
		var err error
		d.Login, err = bff.New(c.Login, bff.Deps{
			URL: c.URL, Key: secret.New(strings.Repeat("k", 32)), Log: slog.New(slog.DiscardHandler),
			Client: &http.Client{Transport: awayIssuer{}}, Authenticator: d.Authenticator,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// examples are paths of the patterns that are no paths themselves.
var examples = map[string]string{
	"/v1/": "/v1/agents", "/v1/shared/": "/v1/shared/t", "/temporal/ui/": "/temporal/ui/namespaces", "/assets/*": "/assets/app.js",
	"/docs/": "/docs/how-to/console", "/connect/{ticket}": "/connect/t",
}

// TestEveryDoorIsInTheTable: without the table nothing is served.
func TestEveryDoorIsInTheTable(t *testing.T) {
	s := serveAll(t)
	ask := func(pattern string) (served bool) {
		path, ok := examples[pattern]
		if !ok {
			path = strings.ReplaceAll(pattern, "{id}", "x")
		}
		return !slices.ContainsFunc([]string{"GET", "POST"}, func(method string) bool {
			if path == "/debug/kill" {
				method = "POST"
			}
			return strings.Contains(string(s.do(method, path, "").body), "nothing is served at this path")
		})
	}
	for _, pattern := range gateway.Patterns() {
		if !ask(pattern) {
			t.Errorf("%s is in the table and not served", pattern)
		}
	}
	s.g.DropRoutes()
	for _, pattern := range gateway.Patterns() {
		if ask(pattern) {
			t.Errorf("%s is served without the table", pattern)
		}
	}
}

// TestPathsInTheSourceAreInTheTable: a handler that compares a request with another path serves a door that the table does not show.
func TestPathsInTheSourceAreInTheTable(t *testing.T) {
	known := func(text string) bool {
		return text == "//" || text == "/orchestrator" || slices.ContainsFunc(gateway.Patterns(), func(pattern string) bool {
			return strings.HasSuffix(pattern, text) ||
				strings.HasPrefix(pattern, text+"/") || strings.TrimRight(pattern, "*") == text || pattern == "/v1/" && strings.HasPrefix(text, pattern)
		})
	}
	noPaths := []string{"gen", "openapi", "rest", "codec", "eventjson", "app", "dist", "testdata"} // or those below /v1/
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(noPaths, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(gotoken.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err == nil && strings.HasPrefix(text, "/") && !strings.ContainsAny(text, " ") && !known(text) {
					t.Errorf("%s has %s, which no row of the table has", path, text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPathsBesideTheTable: what only looks like a path of the table is not served.
func TestPathsBesideTheTable(t *testing.T) {
	s := serveAll(t)
	for _, path := range []string{
		"/connect/", "/connectx", "/connect/callback/", "/connect/a/b", "/turns/", "/turns/a/b", "/mcpx", "/login/", "/temporal/ui",
	} {
		if a := s.do("GET", path, ""); a.status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, a.status)
		}
	}
}
