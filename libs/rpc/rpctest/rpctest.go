// Package rpctest serves a service for a test over the in-memory network, with the real interceptors.
package rpctest

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/rpc"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// AllowAll is an authorizer that allows everything.
type AllowAll struct{}

// Decide implements rpc.Authorizer.
func (AllowAll) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{Allowed: true}, nil
}

// RecordDenied implements rpc.Authorizer.
func (AllowAll) RecordDenied(context.Context, *policyv1.Principal, string, string) {}

type options struct {
	authorizer rpc.Authorizer
	principal  *policyv1.Principal
	log        *slog.Logger
	streams    int
}

// Option configures ServeAs.
type Option func(*options)

// WithAuthorizer sets the authorizer; the default is AllowAll.
func WithAuthorizer(a rpc.Authorizer) Option { return func(o *options) { o.authorizer = a } }

// WithPrincipal sets the calling principal; the default is authn.Local(). Nil calls without a token.
func WithPrincipal(p *policyv1.Principal) Option { return func(o *options) { o.principal = p } }

// WithLog sets the log of the server, which else logs nothing.
func WithLog(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithUserStreams sets rpc.ServerConfig.UserStreams.
func WithUserStreams(n int) Option { return func(o *options) { o.streams = n } }

// Serve serves the registered services until the test ends, and returns a connection that calls as the local user.
func Serve(t testing.TB, role string, register func(grpc.ServiceRegistrar)) rpc.Conn {
	t.Helper()
	return ServeAs(t, role, register)
}

// ServeAs is Serve with options.
func ServeAs(t testing.TB, role string, register func(grpc.ServiceRegistrar), opts ...Option) rpc.Conn {
	t.Helper()
	o := options{authorizer: AllowAll{}, principal: authn.Local(), log: slog.New(slog.DiscardHandler)}
	for _, f := range opts {
		f(&o)
	}
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: o.log, Keyring: ring, Authorizer: o.authorizer, UserStreams: o.streams})
	if err != nil {
		t.Fatal(err)
	}
	register(srv)
	if err := srv.Prepare(); err != nil {
		t.Fatal(err)
	}
	network := rpc.NewMemory()
	l, err := network.Listen(role)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	srv.SetServing(true)
	conn, err := rpc.Dial(network, role, rpc.ClientConfig{Keyring: ring, As: o.principal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Errorf("close connection: %v", err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // the test is over: end remaining streams
		srv.Stop(ctx)
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return conn
}
