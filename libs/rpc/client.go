package rpc

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/providerdata"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// ClientConfig describes the caller.
type ClientConfig struct {
	// Keyring signs the caller's principal; required.
	Keyring *authn.Keyring
	// As is the principal of every call, in the tenant of the principal in the call's context if there is one. Nil forwards the principal in
	// the call's context: use that only if the call is made for the user (the gateway, or a service that acts for its caller).
	As *policyv1.Principal
	// Timeout bounds unary calls without a deadline; 0 = 15 s. A call waits that long for a role that is restarting.
	Timeout time.Duration
	// Patience bounds how long a call waits for a connection before it fails as unavailable; 0 = as long as the call's deadline. For callers
	// that prefer a quick failure.
	Patience time.Duration
}

// serviceConfig balances calls over all addresses of a target. Retries are left to callers, which know what may be repeated.
const serviceConfig = `{"loadBalancingConfig":[{"round_robin":{}}]}`

// Dial returns a connection to a role. It connects on the first call.
func Dial(n Network, role string, cfg ClientConfig) (Conn, error) {
	if cfg.Keyring == nil {
		return nil, fmt.Errorf("dial %s: a keyring is needed", role)
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 15 * time.Second
	}
	return n.dial(role, caller{cfg})
}

type caller struct{ cfg ClientConfig }

// options returns the options of a gRPC connection.
func (c caller) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithStatsHandler(clientStats()),
		grpc.WithUnaryInterceptor(c.unary),
		grpc.WithStreamInterceptor(c.stream),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true), grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true}),
	}
}

// sign adds the principal and sealed provider data, replacing any outgoing metadata under our headers, so that no caller can impersonate
// another.
func (c caller) sign(ctx context.Context) (context.Context, error) {
	if sealed := providerdata.Outgoing(ctx); sealed != nil {
		md, ok := metadata.FromOutgoingContext(ctx) // a copy
		if !ok {
			md = metadata.MD{}
		}
		md.Set(providerdata.Metadata, string(sealed))
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	ctx = c.withToken(ctx)
	p := c.principal(ctx)
	if p == nil {
		return ctx, nil // public RPCs only; the server refuses the others
	}
	token, err := c.cfg.Keyring.Sign(p)
	if err != nil {
		return ctx, err
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	md.Set(authn.Header, token)
	return metadata.NewOutgoingContext(ctx, md), nil
}

// withToken adds the sealed token of the principal that a call is forwarded for. A role that calls for itself does not send it.
func (c caller) withToken(ctx context.Context) context.Context {
	sealed := callertoken.From(ctx)
	if sealed == nil || c.cfg.As != nil {
		return ctx
	}
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	md.Set(callertoken.Metadata, string(sealed))
	return metadata.NewOutgoingContext(ctx, md)
}

// principal returns the caller's principal; nil if there is none.
func (c caller) principal(ctx context.Context) *policyv1.Principal {
	as, of := c.cfg.As, authn.From(ctx)
	switch {
	case as == nil:
		return of
	case of == nil || of.GetTenant() == as.GetTenant():
		return as
	}
	as = proto.CloneOf(as)
	as.Tenant = of.GetTenant()
	return as
}

// bound adds the default deadline to a unary call.
func (c caller) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, c.cfg.Timeout)
}

func (c caller) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	ctx, err := c.sign(ctx)
	if err != nil {
		return err
	}
	if err := c.reach(ctx, cc); err != nil {
		return err
	}
	ctx, cancel := c.bound(ctx)
	defer cancel()
	return invoke(ctx, method, req, reply, cc, opts...)
}

func (c caller) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer,
	opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	ctx, err := c.sign(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.reach(ctx, cc); err != nil {
		return nil, err
	}
	return open(ctx, desc, cc, method, opts...)
}

// reach waits for the connection, at most for Patience.
func (c caller) reach(ctx context.Context, cc *grpc.ClientConn) error {
	if c.cfg.Patience <= 0 || cc.GetState() == connectivity.Ready {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, c.cfg.Patience)
	defer cancel()
	for {
		state := cc.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.Idle {
			cc.Connect()
		}
		if !cc.WaitForStateChange(wait, state) {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "a part of the mesh cannot be reached")
		}
	}
}
