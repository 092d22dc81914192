package egress

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// GRPC returns a connection to an external gRPC server (host:port), dialled through e, without ambient proxy or service config from DNS.
// Received messages are limited to maxBytes. The caller closes it.
func (e *Egress) GRPC(address string, secure bool, maxBytes int) (*grpc.ClientConn, error) {
	return e.newGRPC(address, secure, e.DialContext, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxBytes)))
}

// maxGRPCHeaders bounds the headers and trailers of a response.
const maxGRPCHeaders = 256 << 10

// newGRPC is GRPC with options and a dial function of the caller's.
func (e *Egress) newGRPC(address string, secure bool, dial func(ctx context.Context, network, address string) (net.Conn, error),
	more ...grpc.DialOption,
) (*grpc.ClientConn, error) {
	creds := insecure.NewCredentials()
	if secure {
		creds = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: e.transport.TLSClientConfig.RootCAs})
	}
	return grpc.NewClient("passthrough:///"+address, append([]grpc.DialOption{
		grpc.WithTransportCredentials(creds), grpc.WithNoProxy(), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) { return dial(ctx, "tcp", address) }),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: e.connectTimeout}),
		grpc.WithStatsHandler(withoutMessages{otelgrpc.NewClientHandler()}), grpc.WithMaxHeaderListSize(maxGRPCHeaders),
		grpc.WithIdleTimeout(90 * time.Second),
	}, more...)...)
}

// withoutMessages keeps what servers say out of spans: they may repeat credentials.
type withoutMessages struct{ stats.Handler }

// HandleRPC implements stats.Handler.
func (h withoutMessages) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if end, ok := s.(*stats.End); ok && end.Error != nil {
		quiet := *end
		quiet.Error = status.Error(status.Code(end.Error), "")
		s = &quiet
	}
	h.Handler.HandleRPC(ctx, s)
}
