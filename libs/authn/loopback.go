package authn

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/windlass-dev/windlass/libs/peercred"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Loopback identifies callers on this machine as the local user if the kernel says that they belong to the operating-system user of this
// process. Where the kernel does not report it, a connection identifies no user.
type Loopback struct{}

var _ PeerVerifier = Loopback{}

// Identify implements PeerVerifier. It excludes calls through a proxy, and those for another host name: a web page that uses DNS rebinding
// sends its own name.
func (Loopback) Identify(_ context.Context, p Peer) *policyv1.Principal {
	tcp, ok := p.Remote.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() || p.User != peercred.Same || p.Forwarded || !LoopbackName(p.Host) {
		return nil
	}
	return Local()
}

// LoopbackName reports whether host, with or without a port, is a name or address that browsers never resolve by DNS to another machine:
// localhost, a name below it, or a loopback address. A page that uses DNS rebinding reaches a loopback port under its own name.
func LoopbackName(hostport string) bool {
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
