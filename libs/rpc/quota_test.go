package rpc_test

import (
	"context"
	"log/slog"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// limiting allows everything, so many requests a minute.
type limiting struct {
	rpctest.AllowAll
	perMinute int64
}

func (l limiting) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{
		Allowed: true, Quota: &policyv1.EffectiveQuota{User: &policyv1.QuotaLimits{RequestsPerMinute: l.perMinute}},
	}, nil
}

func leasing(most int64) *quota.Counter {
	return quota.NewCounter(&rpctest.Leases{Max: most}, slog.New(slog.DiscardHandler))
}

func TestS22CallsFromOutsideTheMeshAreCounted(t *testing.T) {
	p := newTokenPortWith(t, rpc.ServerConfig{Authorizer: limiting{perMinute: 2}, Requests: leasing(2)})
	token := p.idp.Token("alice")
	for range 2 {
		if _, err := p.call(t, token); err != nil {
			t.Fatal(err)
		}
		<-p.seen
	}
	_, err := p.call(t, token)
	if f := fault.From(err); fault.CodeOf(err) != "quota_exceeded" || f.Retry <= 0 || f.Details["max"] != "2" {
		t.Errorf("the third call: %v, %+v", err, f)
	}
	// RPCs that need no permission count too.
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	if _, err := p.client.GetCaller(ctx, &policyv1.GetCallerRequest{}); fault.CodeOf(err) != "quota_exceeded" {
		t.Errorf("who am I: %v", err)
	}
	if _, err := p.call(t, p.idp.Token("bob")); err != nil {
		t.Errorf("another user: %v", err)
	}
}

func TestS22CallsBetweenRolesAreNotCounted(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: limiting{perMinute: 1}, Requests: leasing(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyServiceServer(srv, fake{get: func(context.Context) (*policyv1.Decision, error) {
		return &policyv1.Decision{}, nil
	}})
	network := rpc.NewMemory()
	l, err := network.Listen("policy")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	conn, err := rpc.Dial(network, "policy", rpc.ClientConfig{Keyring: ring, As: authn.User("alice")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for range 3 {
		client := policyv1.NewPolicyServiceClient(conn)
		if _, err := client.GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"}); err != nil {
			t.Fatal(err)
		}
	}
}
