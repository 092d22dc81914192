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
