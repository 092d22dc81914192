package main

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guard refuses what web pages of others have a browser send to the UI: requests for a name that was made to point here (DNS rebinding),
// requests of pages of another origin, and frames.
func guard(next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "frame-ancestors 'self'") // the UI shows rendered Markdown in a frame, which sets its own
		switch {
		case !ownName(r):
			http.Error(w, "This is Temporal's UI on one machine: call it by an address of that machine, not as "+r.Host+".",
				http.StatusMisdirectedRequest)
		case !sameOrigin(cross, r):
			http.Error(w, "Web pages of other origins may not use Temporal's UI.", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ownName reports whether a request is for a name of loopback, which no DNS server defines, or for the address that it came to.
func ownName(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return addr.IsLoopback() || ok && local.AddrPort().Addr().Unmap() == addr.Unmap()
}

// sameOrigin reports whether no page of another origin makes a request. Reads are refused too; a link that a person follows is no request of
// the page that has it.
func sameOrigin(cross *http.CrossOriginProtection, r *http.Request) bool {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return true
	}
	asPost := *r
	asPost.Method = http.MethodPost
	return cross.Check(&asPost) == nil
}
