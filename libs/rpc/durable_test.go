package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// listenOn returns a network of a kind, with a listener for the role "role".
func listenOn(t *testing.T, kind string) (rpc.Network, net.Listener) {
	t.Helper()
	if kind == "tcp" {
		return listenTCP(t)
	}
	network := rpc.NewMemory()
	l, err := network.Listen("role")
	if err != nil {
		t.Fatal(err)
	}
	return network, l
}

// TestAnAnswerWaitsUntilItIsOnDisk calls a method in memory and over TCP.
func TestAnAnswerWaitsUntilItIsOnDisk(t *testing.T) {
	for _, row := range []struct {
		name          string
		handler, disk error
		want          string
		flushed       bool
	}{
		{name: "it is flushed before it is answered", flushed: true},
		{name: "a failed call promises nothing", handler: fault.NotFound("no decision"), want: "not_found"},
		{name: "a disk that fails is no success", disk: errors.New("input/output error"), want: "unavailable", flushed: true},
	} {
		for _, name := range []string{"memory", "tcp"} {
			t.Run(row.name+", "+name, func(t *testing.T) {
				network, l := listenOn(t, name)
				flushed := false
				ring, err := authn.NewKeyring(authn.NewKey())
				if err != nil {
					t.Fatal(err)
				}
				type key struct{}
				srv, err := rpc.NewServer(rpc.ServerConfig{
					Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{},
					Track: func(ctx context.Context) (context.Context, func() error) {
						return context.WithValue(ctx, key{}, true), func() error { flushed = true; return row.disk }
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				policyv1.RegisterPolicyServiceServer(srv, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
					if ctx.Value(key{}) == nil || flushed {
						t.Error("the handler does not run in the tracked context, before the flush")
					}
					return &policyv1.Decision{}, row.handler
				}})
				done := make(chan error, 1)
				go func() { done <- srv.Serve(l) }()
				conn, err := rpc.Dial(network, "role", rpc.ClientConfig{Keyring: ring, As: authn.Local()})
				if err != nil {
					t.Fatal(err)
				}
				_, err = policyv1.NewPolicyServiceClient(conn).GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
				if fault.CodeOf(err) != row.want || flushed != row.flushed {
					t.Errorf("the caller gets %v; flushed: %t", err, flushed)
				}
				_ = conn.Close()
				srv.Stop(t.Context())
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
