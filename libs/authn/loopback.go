package authn

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/windlass-dev/windlass/libs/peercred"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Loopback identifies callers on this machine as the local user.
type Loopback struct {
	// SameUser accepts only callers that the kernel says belong to the operating-system user of this process. Without it every account on the
	// machine is the local user.
	SameUser bool
}

var _ PeerVerifier = Loopback{}

// Identify implements PeerVerifier. It excludes calls through a proxy, and those for another host name: a web page that uses DNS rebinding
// sends its own name.
func (l Loopback) Identify(_ context.Context, p Peer) *policyv1.Principal {
	tcp, ok := p.Remote.(*net.TCPAddr)
	if !ok || !tcp.IP.IsLoopback() || p.Forwarded || !LoopbackName(p.Host) {
		return nil
	}
	if l.SameUser && p.User != peercred.Same {
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
