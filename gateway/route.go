package gateway

import (
	"cmp"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/gateway/connect"
	"github.com/windlass-dev/windlass/gateway/console"
	"github.com/windlass-dev/windlass/gateway/openapi"
	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/libs/fault"
)

// route dispatches a request by its path. Paths are matched exactly: nothing is cleaned or redirected.
func (g *Gateway) route(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if !utf8.ValidString(path) {
		problem.Write(w, r, fault.Invalid("path", "is not valid UTF-8"))
		return
	}
	if strings.HasPrefix(path, "/v1/") {
		g.cors(w, r, g.api, corsHeaders)
		return
	}
	if g.deps.MCP != nil && isMCP(path) {
		matched(r.Context(), mcpPath)
		g.mcp(w, r)
		return
	}
	if g.deps.Payloads != nil && (path == PayloadsPath+"/decode" || path == PayloadsPath+"/encode") {
		matched(r.Context(), path)
		g.payloads(w, r)
		return
	}
	if path == console.KillPath && g.deps.Kill != nil && r.Method == http.MethodPost {
		matched(r.Context(), path)
		g.kill(w, r)
		return
	}
	if pattern := connect.Route(path); pattern != "" && g.connect != nil {
		matched(r.Context(), pattern)
		g.connect.ServeHTTP(w, r)
		return
	}
	if g.deps.Login != nil {
		if h := g.deps.Login.Handler(path); h != nil {
			matched(r.Context(), path)
			h.ServeHTTP(w, r)
			return
		}
	}
	h := g.resources.Document(path)
	if h != nil {
		path = protected.Path
		if protected.CORS(w, r) {
			return
		}
	} else if h = g.plain(path); h == nil {
		problem.NotFound(w, r)
		return
	}
	if pattern := cmp.Or(console.Route(path), uiRoute(path)); pattern != "" {
		path = pattern
	}
	matched(r.Context(), path)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		problem.MethodNotAllowed(w, r, http.MethodGet, http.MethodHead)
		return
	}
	h.ServeHTTP(w, r)
}

// plain returns the handler for paths outside the API, which need no authentication or decide about it themselves.
func (g *Gateway) plain(path string) http.Handler {
	switch path {
	case "/openapi.json":
		return document(openapi.Document)
	case "/openapi.client.json":
		return document(openapi.ClientDocument)
	}
	if console.Route(path) != "" {
		return g.console
	}
	if g.temporalUI != nil && strings.HasPrefix(path, uiPath) {
		return http.HandlerFunc(g.toTemporalUI)
	}
	return g.ops.Handler(path)
}

// document serves a form of the OpenAPI document.
func document(form func() ([]byte, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := form()
		if err != nil {
			problem.Write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // the API's description is public, and viewers are web pages
		_, _ = w.Write(text)
	})
}
