package gateway

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/windlass-dev/windlass/gateway/problem"
	"github.com/windlass-dev/windlass/gateway/upload"
	"github.com/windlass-dev/windlass/libs/authn"
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
	"If-None-Match, Last-Event-ID, Traceparent, Tracestate, X-Request-Id, " + providerdata.Header + ", " + providerdata.Alias + ", " +
	upload.ResumeHeaders

// serveCaller passes requests of callers to next, also from pages of the configured origins, which may send these headers. It answers CORS
// preflights itself.
func (i *identity) serveCaller(w http.ResponseWriter, r *http.Request, peer authn.Peer, headers string, next http.Handler) {
	i.serveAdmitted(w, r, headers, next, func() (caller, bool) { return i.admit(w, r, peer) })
}

// serveAdmitted is serveCaller for whom admit returns.
func (i *identity) serveAdmitted(w http.ResponseWriter, r *http.Request, headers string, next http.Handler, admit func() (caller, bool)) {
	origin := r.Header.Get("Origin")
	if origin != "" && slices.Contains(i.cfg.CORSOrigins, origin) {
		h := w.Header()
		h.Add("Vary", "Origin")
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Expose-Headers", "ETag, Location, Mcp-Session-Id, Retry-After, X-Request-Id, "+problem.Challenge+
			", "+upload.ResumeHeaders)
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
			h.Set("Access-Control-Allow-Headers", headers)
			h.Set("Access-Control-Max-Age", "600")
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	if c, ok := admit(); ok {
		i.serveAs(w, r, c, next)
	}
}
