// Package peercred tells whether the other end of a TCP connection belongs to the operating-system user that this process runs as. TCP has
// no SO_PEERCRED, but both ends of a connection on loopback are sockets of one kernel, which knows the owner of each.
package peercred

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
)

// Peer says who is at the other end of a connection.
type Peer uint8

const (
	// Unknown is a peer whose user cannot be found out: the kernel does not tell, or the socket is already closed.
	Unknown Peer = iota
	// Remote is a peer that is not on a loopback address.
	Remote
	// Other is a process of another user of this machine.
	Other
	// Same is a process of the user that this process runs as.
	Same
)

// String returns the name of p, for logs.
func (p Peer) String() string {
	switch p {
	case Remote:
		return "remote"
	case Other:
		return "another user"
	case Same:
		return "same user"
	case Unknown:
	}
	return "unknown"
}

// Of asks the kernel who is at the other end of a connection that this process accepted. Ask once, when the connection is new: a peer that
// has closed its socket is Unknown.
func Of(conn net.Conn) Peer {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	local, ok := addrPort(conn.LocalAddr())
	if !ok {
		return Unknown
	}
	remote, ok := addrPort(conn.RemoteAddr())
	if !ok {
		return Unknown
	}
	if !remote.Addr().IsLoopback() || !local.Addr().IsLoopback() {
		return Remote
	}
	return ask(conn, local, remote)
}

// addrPort returns a TCP address with the mapping of IPv4 into IPv6 undone.
func addrPort(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	ap := tcp.AddrPort()
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port()), ap.IsValid()
}

type key struct{}

// ConnContext is for http.Server.ConnContext: it asks who is at the other end of a new connection, for FromContext.
func ConnContext(ctx context.Context, conn net.Conn) context.Context { return With(ctx, Of(conn)) }

// With returns a context that carries p.
func With(ctx context.Context, p Peer) context.Context { return context.WithValue(ctx, key{}, p) }

// FromContext returns the peer of a request's connection; Unknown if the server has no ConnContext.
func FromContext(ctx context.Context) Peer {
	p, _ := ctx.Value(key{}).(Peer)
	return p
}
