package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

func TestARoleActsInTheTenantOfItsCaller(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		policyv1.RegisterPolicyServiceServer(m.server, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
			p := authn.From(ctx)
			return &policyv1.Decision{Id: p.GetTenant(), Subject: p.GetSubject()}, nil
		}})
		client := policyv1.NewPolicyServiceClient(m.start(t)) // as the local user
		alice := authn.User("alice")
		alice.Tenant = "acme"
		for tenant, ctx := range map[string]context.Context{
			authn.DefaultTenant: t.Context(), "acme": authn.With(t.Context(), alice),
		} {
			got, err := client.GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
			if err != nil || got.GetId() != tenant || got.GetSubject() != "local" {
				t.Errorf("got %v, %v; want the local user in %s", got, err, tenant)
			}
		}
	})
}

// nobody is a verifier that forgets the tenant.
type nobody struct{}

func (nobody) Identify(context.Context, authn.Peer) *policyv1.Principal {
	return &policyv1.Principal{Subject: "eve", Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER}
}

func TestACallerWithoutTenantIsRefused(t *testing.T) {
	networks(t, func(t *testing.T, m *mesh) {
		server, err := rpc.NewServer(rpc.ServerConfig{
			Log: slog.New(slog.DiscardHandler), Keyring: m.ring, Authorizer: rpctest.AllowAll{},
			Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{nobody{}}),
		})
		if err != nil {
			t.Fatal(err)
		}
		policyv1.RegisterPolicyServiceServer(server, fake{get: func(context.Context) (*policyv1.Decision, error) {
			return nil, errors.New("called")
		}})
		m.server.Stop(t.Context())
		m.server = server
		m.start(t)
		conn, err := rpc.Dial(m.network, "role", rpc.ClientConfig{Keyring: m.ring})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		for name, ctx := range map[string]context.Context{
			"of a verifier": t.Context(), "of a mesh token": authn.With(t.Context(), &policyv1.Principal{Subject: "eve"}),
		} {
			if _, err := decide(conn).GetDecision(ctx, anyDecision); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
