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

// GRPC makes a connection to a gRPC server of somebody else, host:port, dialled through e: no ambient proxy, no service config from DNS. A
// message of the server has maxBytes at most. The caller closes it.
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
