package authn

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/windlass-dev/windlass/libs/peercred"
)

// PeerOf describes the connection of a request. The server needs peercred.ConnContext.
func PeerOf(r *http.Request) Peer {
	out := Peer{Host: r.Host, User: peercred.FromContext(r.Context())}
	if remote, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		out.Remote = net.TCPAddrFromAddrPort(remote)
	}
	out.Local, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	for _, name := range ProxyHeaders {
		out.Forwarded = out.Forwarded || r.Header.Get(name) != ""
	}
	return out
}

// SameOrigin refuses requests of pages of other origins than check trusts. Reads are refused too, since some of them are streams; a link
// that a person follows is not a request of the page that has it.
func SameOrigin(check *http.CrossOriginProtection, r *http.Request) error {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		return nil
	}
	asPost := *r
	asPost.Method = http.MethodPost
	return check.Check(&asPost)
}
