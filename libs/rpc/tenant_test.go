package rpc_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
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
