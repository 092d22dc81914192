package peercred

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Credentials returns transport credentials that ask who is at the other end of each connection that a server accepts, for FromPeer, and
// leave the rest to inner.
func Credentials(inner credentials.TransportCredentials) credentials.TransportCredentials {
	return &transport{inner}
}

type transport struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (t *transport) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	who := Of(conn) // before the handshake: the peer may close its socket after it
	secured, info, err := t.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	out := AuthInfo{AuthInfo: info, Peer: who}
	if common, ok := info.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		out.CommonAuthInfo = common.GetCommonAuthInfo()
	}
	return secured, out, nil
}

// Clone implements credentials.TransportCredentials.
func (t *transport) Clone() credentials.TransportCredentials {
	return &transport{t.TransportCredentials.Clone()}
}

// AuthInfo is the inner credentials' AuthInfo with the peer.
type AuthInfo struct {
	credentials.AuthInfo
	credentials.CommonAuthInfo
	Peer Peer
}

// FromPeer returns the peer of a call's connection; Unknown if the server does not use Credentials.
func FromPeer(ctx context.Context) Peer {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return Unknown
	}
	info, ok := p.AuthInfo.(AuthInfo)
	if !ok {
		return Unknown
	}
	return info.Peer
}
