package toolserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// MaxBody is the largest request body a tool server reads.
const MaxBody = 1 << 20

// Guard adds to an MCP endpoint what mcp-go leaves to its user: a limit for request bodies, and a check against web pages. A browser sends
// the page's origin in Origin; only pages of this machine may call a server on loopback, and only with a loopback Host, or a site could
// point its own name here (DNS rebinding).
func Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !hostAllowed(r):
			http.Error(w, "host not allowed", http.StatusForbidden)
		case !originAllowed(r):
			http.Error(w, "origin not allowed", http.StatusForbidden)
		case r.ContentLength > MaxBody:
			http.Error(w, "request body too large", http.StatusRequestEntityTooLarge)
		default:
			http.MaxBytesHandler(next, MaxBody).ServeHTTP(w, r)
		}
	})
}

// hostAllowed accepts any Host, except that a connection on loopback must name loopback.
func hostAllowed(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || !isLoopback(local.String()) || isLoopback(r.Host)
}

// originAllowed accepts requests without an Origin (not a browser), from pages of this machine and from pages served under the same host.
func originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	return isLoopback(u.Host) || strings.EqualFold(u.Host, r.Host)
}

// isLoopback accepts a host with or without port.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
