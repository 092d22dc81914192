package authn

import (
	"context"
	"net"
	"net/netip"
	"strings"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Loopback identifies callers on this machine as the local user.
type Loopback struct{}

var _ PeerVerifier = Loopback{}

// Identify implements PeerVerifier. It excludes calls through a proxy, and those for another host name: a web page that uses DNS rebinding
// sends its own name.
func (Loopback) Identify(_ context.Context, p Peer) *policyv1.Principal {
	tcp, ok := p.Remote.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() || p.Forwarded || !loopbackName(p.Host) {
		return nil
	}
	return Local()
}

func loopbackName(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
