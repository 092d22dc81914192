// Package peercred reports whether the other end of a TCP connection belongs to the operating-system user that this process runs as. TCP
// has no SO_PEERCRED, but both ends of a connection on loopback are sockets of one kernel, which knows the owner of each.
package peercred

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"strconv"
)

// Peer says who is at the other end of a connection.
type Peer uint8

const (
	// Unknown is a peer whose user cannot be found out: the kernel does not report it, or the socket is already closed.
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
func Of(conn net.Conn) Peer { return look(conn).peer }

// seen is what the kernel reports about a peer; user is the id of its operating-system user where that is known.
type seen struct {
	peer Peer
	user uint32
}

func look(conn net.Conn) seen {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	local, ok := addrPort(conn.LocalAddr())
	if !ok {
		return seen{}
	}
	remote, ok := addrPort(conn.RemoteAddr())
	if !ok {
		return seen{}
	}
	if !remote.Addr().IsLoopback() || !local.Addr().IsLoopback() {
		return seen{peer: Remote}
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
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, key{}, look(conn))
}

// With returns a context that carries p.
func With(ctx context.Context, p Peer) context.Context {
	return context.WithValue(ctx, key{}, seen{peer: p})
}

// FromContext returns the peer of a request's connection; Unknown if the server has no ConnContext.
func FromContext(ctx context.Context) Peer {
	s, _ := ctx.Value(key{}).(seen)
	return s.peer
}

// Account names the operating-system user at the other end of a request's connection: two requests of the same user have the same name. All
// users that the kernel does not distinguish share one.
func Account(ctx context.Context) string {
	s, _ := ctx.Value(key{}).(seen)
	if s.peer == Same || s.peer == Other {
		return strconv.FormatUint(uint64(s.user), 10)
	}
	return s.peer.String()
}
