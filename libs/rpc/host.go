package rpc

import (
	"context"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// ForeignHost is the error of a call for a host that is not the server's. setting is the configuration key of the server's names.
func ForeignHost(host, setting string) error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "this server is not called %q", host).
		Hint("If that is its name, add it to %s.", setting)
}

// addressed refuses calls over the network that are for another host, or that a browser makes. Roles of the mesh, who have its key or a
// certificate, may use any name.
func (s *Server) addressed(ctx context.Context) error {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil // in memory
	}
	if _, tcp := p.LocalAddr.(*net.TCPAddr); !tcp {
		return nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	if c, ok := certificate(ctx); len(md.Get(authn.Header)) > 0 || ok && c.err == nil {
		return nil
	}
	if len(md.Get("origin")) > 0 || len(md.Get("sec-fetch-site")) > 0 {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "web pages may not call this port").
			Hint("Call the HTTP API of the gateway.")
	}
	host := ""
	if names := md.Get(":authority"); len(names) > 0 {
		host = names[0]
	}
	if !s.cfg.Hosts.Allow(host, p.LocalAddr) {
		return ForeignHost(host, "mesh.hosts")
	}
	return nil
}
