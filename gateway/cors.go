package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/libs/providerdata"
)

// crossOrigin rejects requests of web pages of other origins: browsers send some of them without a preflight.
func crossOrigin(origins []string) (*http.CrossOriginProtection, error) {
	c := http.NewCrossOriginProtection()
	for _, o := range origins {
		if err := c.AddTrustedOrigin(o); err != nil {
			return nil, fmt.Errorf("gateway.cors_origins %q: want scheme and host, such as https://app.example.com: %w", o, err)
		}
	}
	return c, nil
}

// corsHeaders are the request headers that web pages may send to the API.
const corsHeaders = "Authorization, Content-Encoding, Content-Type, Grpc-Timeout, Idempotency-Key, If-Match, " +
	"If-None-Match, Last-Event-ID, Traceparent, Tracestate, X-Request-Id, " + providerdata.Header + ", " + providerdata.Alias

// mcpPath is where MCP is served.
const mcpPath = "/mcp"

// isMCP reports whether a path is one at which MCP is served.
func isMCP(path string) bool { return path == mcpPath || strings.HasPrefix(path, mcpPath+"/") }

// mcp serves MCP. The names of some headers are chosen by tools, so pages of the configured origins may send all that they ask for.
func (g *Gateway) mcp(w http.ResponseWriter, r *http.Request) {
	g.cors(w, r, g.deps.MCP, r.Header.Get("Access-Control-Request-Headers"))
}

// cors answers CORS preflights, and passes requests from the configured origins to next. headers are those that pages may send.
func (g *Gateway) cors(w http.ResponseWriter, r *http.Request, next http.Handler, headers string) {
	origin := r.Header.Get("Origin")
	if origin != "" && slices.Contains(g.cfg.CORSOrigins, origin) {
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "ETag, Location, Mcp-Session-Id, Retry-After, X-Request-Id, "+problem.Challenge)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", headers)
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if caller := g.authenticate(w, r); caller != nil {
		g.serveAs(w, r, caller, next)
	}
}
