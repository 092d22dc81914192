package issuer

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/zitadel/oidc/v3/pkg/oidc"
)

// maxBody bounds a request; tokens are the largest part.
const maxBody = 64 << 10

// forms are endpoints that are used by POST only, so that no secret or token is in a URL, where logs would keep it.
var forms = []string{"/token", "/introspect", "/revoke", "/device_authorization", registerPath}

// crossOrigin are endpoints that pages on this machine may call with scripts, as MCP clients in a browser do. No cookie goes with that.
var crossOrigin = []string{oidc.DiscoveryEndpoint, oauthMetadata, "/keys", "/token", "/revoke", "/userinfo", registerPath}

// guard rejects requests for another host, which DNS rebinding makes, and sets the headers that all responses have.
func guard(next http.Handler, port uint16) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		if !ownHost(r.Host, port) {
			http.Error(w, "This issuer serves its own machine only.", http.StatusMisdirectedRequest)
			return
		}
		if slices.Contains(crossOrigin, r.URL.Path) && allowOrigin(h, r) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if slices.Contains(forms, r.URL.Path) && (r.Method != http.MethodPost || r.URL.RawQuery != "") {
			h.Set("Allow", http.MethodPost)
			http.Error(w, "Use POST, with all parameters in the body.", http.StatusMethodNotAllowed)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a Host header names this machine and the port of the issuer.
func ownHost(host string, port uint16) bool {
	name, p, err := net.SplitHostPort(host)
	return err == nil && p == strconv.Itoa(int(port)) && authn.LoopbackName(name)
}

// ownOrigin reports whether a request comes from a page of this machine, or from no page.
func ownOrigin(r *http.Request) bool {
	text := r.Header.Get("Origin")
	origin, err := url.Parse(text)
	return text == "" || err == nil && authn.LoopbackName(origin.Hostname())
}

// allowOrigin lets pages of this machine read the response, and reports whether the request only asks for that.
func allowOrigin(h http.Header, r *http.Request) (preflight bool) {
	h.Add("Vary", "Origin")
	if r.Header.Get("Origin") == "" || !ownOrigin(r) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, MCP-Protocol-Version")
	return true
}
