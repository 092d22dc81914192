package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/rpc/admission"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// maxStreams bounds the open calls of one connection, also of a role. A gateway has one for each event stream of its users.
const maxStreams = 1 << 15

// gated are the credentials of a server whose connections an admission.Gate counts. A valid certificate of a role admits a connection.
type gated struct {
	credentials.TransportCredentials
}

// gatedInfo is the AuthInfo of such a connection.
type gatedInfo struct {
	credentials.AuthInfo
	credentials.CommonAuthInfo
	conn *admission.Conn // nil: it is not counted
}

// ServerHandshake implements credentials.TransportCredentials.
func (g gated) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	secured, info, err := g.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	out := gatedInfo{AuthInfo: info}
	out.conn, _ = conn.(*admission.Conn)
	if common, ok := info.(interface {
		GetCommonAuthInfo() credentials.CommonAuthInfo
	}); ok {
		out.CommonAuthInfo = common.GetCommonAuthInfo()
	}
	if c, ok := info.(certified); ok && c.err == nil {
		out.conn.Admit()
	}
	return secured, out, nil
}

// Clone implements credentials.TransportCredentials.
func (g gated) Clone() credentials.TransportCredentials { return gated{g.TransportCredentials.Clone()} }

// gate returns what the transport knows about a call's connection; false if it did not come over the network.
func gate(ctx context.Context) (gatedInfo, bool) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return gatedInfo{}, false
	}
	info, ok := p.AuthInfo.(peercred.AuthInfo)
	if !ok {
		return gatedInfo{}, false
	}
	out, ok := info.AuthInfo.(gatedInfo)
	return out, ok
}

// begin refuses a call at its headers, before anything is kept of it, if too many calls of its connection or address are open whose
// callers are not known.
func begin(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if g, ok := gate(ctx); ok && g.conn != nil && g.conn.Begin(ctx) != nil {
		return ctx, fault.Status(fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED,
			"too many calls without accepted credentials are open from your address").
			Hint("Try again when some of them have ended. Send your first call alone: the connection is not limited once it is accepted.")).Err()
	}
	return ctx, nil
}

// accepted ends the counting of a connection whose caller is known.
func accepted(ctx context.Context) {
	if g, ok := gate(ctx); ok {
		g.conn.Admit()
	}
}
