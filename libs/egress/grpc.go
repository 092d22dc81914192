package egress

import (
	"context"
	"crypto/tls"
	"net"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// GRPC returns a connection to an external gRPC server (host:port), dialled through e, without ambient proxy or service config from DNS.
// Received messages are limited to maxBytes. The caller closes it.
func (e *Egress) GRPC(address string, secure bool, maxBytes int) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.transport.TLSClientConfig.RootCAs})
	}
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(creds), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return e.DialContext(ctx, "tcp", address) }),
		grpc.WithStatsHandler(otelgrpc.NewClientHandler()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBytes)))
}
