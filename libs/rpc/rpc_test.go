package rpc_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testmain"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// fake is a policy service whose GetDecision does what the test sets.
type fake struct {
	policyv1.UnimplementedPolicyServiceServer
	get func(ctx context.Context) (*policyv1.Decision, error)
}

func (f fake) GetDecision(ctx context.Context, _ *policyv1.GetDecisionRequest) (*policyv1.Decision, error) {
	return f.get(ctx)
}

type denyAll struct{ rpctest.AllowAll }

func (denyAll) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{DeniedBy: "no-readers"}, nil
}

type policyAway struct{ rpctest.AllowAll }

func (policyAway) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{}, errors.New("dial tcp: secret detail")
}

func TestChain(t *testing.T) {
	ok := func(ctx context.Context) (*policyv1.Decision, error) {
		return &policyv1.Decision{Subject: authn.From(ctx).GetSubject()}, nil
	}
	rows := []struct {
		name string
		opts []rpctest.Option
		get  func(context.Context) (*policyv1.Decision, error)
		id   string
		want string
		code codes.Code
	}{
		{name: "the principal reaches the handler", get: ok, id: "dec_1"},
		{
			name: "no token is refused", opts: []rpctest.Option{rpctest.WithPrincipal(nil)}, get: ok, id: "dec_1", code: codes.Unauthenticated,
			want: "unauthenticated",
		},
		{
			name: "no permission is refused", opts: []rpctest.Option{rpctest.WithAuthorizer(denyAll{})}, get: ok, id: "dec_1",
			code: codes.PermissionDenied, want: "permission_denied",
		},
		{
			name: "policy away is unavailable", opts: []rpctest.Option{rpctest.WithAuthorizer(policyAway{})}, get: ok, id: "dec_1",
			code: codes.Unavailable, want: "unavailable",
		},
		{name: "a bad field is named", get: ok, id: "", code: codes.InvalidArgument, want: "invalid_argument"},
		{
			name: "a panic is an internal error", get: func(context.Context) (*policyv1.Decision, error) { panic("secret") }, id: "dec_1",
			code: codes.Internal, want: "internal",
		},
		{name: "a deadline is always there", get: func(ctx context.Context) (*policyv1.Decision, error) {
			if _, ok := ctx.Deadline(); !ok {
				return nil, errors.New("no deadline")
			}
			return ok(ctx)
		}, id: "dec_1"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			conn := rpctest.ServeAs(t, "policy", func(s grpc.ServiceRegistrar) {
				policyv1.RegisterPolicyServiceServer(s, fake{get: r.get})
			}, r.opts...)
			d, err := policyv1.NewPolicyServiceClient(conn).GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: r.id})
			if r.want == "" {
				if err != nil || d.GetSubject() != "local" {
					t.Fatalf("got %v, %v", d, err)
				}
				return
			}
			f := fault.From(err)
			if fault.CodeOf(err) != r.want || f.Code != r.code {
				t.Fatalf("err = %v (%s), want %s %s", err, fault.CodeOf(err), r.code, r.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the cause leaked: %v", err)
			}
		})
	}
}

func TestForgedHeaderFromCallerIsReplaced(t *testing.T) {
	conn := rpctest.Serve(t, "policy", func(s grpc.ServiceRegistrar) {
		policyv1.RegisterPolicyServiceServer(s, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
			return &policyv1.Decision{Subject: authn.From(ctx).GetSubject()}, nil
		}})
	})
	ctx := metadata.AppendToOutgoingContext(t.Context(), authn.Header, "forged")
	d, err := policyv1.NewPolicyServiceClient(conn).GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
	if err != nil || d.GetSubject() != "local" {
		t.Fatalf("got %v, %v", d, err)
	}
}

func TestS14AServerWithoutPermissionDoesNotStart(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{}})
	if err != nil {
		t.Fatal(err)
	}
	srv.RegisterService(&grpc.ServiceDesc{
		ServiceName: "windlass.nowhere.v1.Nothing", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Do"}},
	}, struct{}{})
	if err := srv.Prepare(); err == nil || !strings.Contains(err.Error(), "/windlass.nowhere.v1.Nothing/Do") {
		t.Fatalf("Prepare = %v, want an error that names the method", err)
	}
	srv.Stop(t.Context())
}

func TestLoopbackCallerOverTCP(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{},
		Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyServiceServer(srv, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
		return &policyv1.Decision{Subject: authn.From(ctx).GetSubject()}, nil
	}})
	l, err := rpc.TCP{Listeners: map[string]string{"policy": "127.0.0.1:0"}}.Listen("policy")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	// A caller without our code: plain gRPC, as from grpcurl.
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	d, err := policyv1.NewPolicyServiceClient(conn).GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
	if err != nil || d.GetSubject() != "local" {
		t.Fatalf("got %v, %v", d, err)
	}
	for _, md := range [][]string{
		{"authorization", "Bearer for.ge.d"},
		{"x-forwarded-for", "192.0.2.1"},
		{authn.Header, "forged"},
		{authn.Header, meshToken(t, ring), "authorization", "Bearer forged"},
		{authn.Header, "", "authorization", ""},
	} {
		_, err := policyv1.NewPolicyServiceClient(conn).GetDecision(metadata.AppendToOutgoingContext(t.Context(), md...),
			&policyv1.GetDecisionRequest{DecisionId: "dec_1"})
		if fault.CodeOf(err) != "unauthenticated" {
			t.Errorf("with %q: %v", md, err)
		}
	}
	if _, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
	if _, err := (rpc.TCP{Listeners: map[string]string{"policy": l.Addr().String()}}).Listen("policy"); err == nil ||
		!strings.Contains(err.Error(), "another process") {
		t.Errorf("a port in use must be said plainly: %v", err)
	}
	if _, err := (rpc.TCP{}).Listen("policy"); err == nil || !strings.Contains(err.Error(), "mesh.listen.policy") {
		t.Errorf("a missing address must name its key: %v", err)
	}
}

func meshToken(t *testing.T, ring *authn.Keyring) string {
	t.Helper()
	token, err := ring.Sign(authn.Local())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestACallInMemoryNeedsAPrincipal(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{},
		Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyServiceServer(srv, fake{})
	network := rpc.NewMemory()
	l, err := network.Listen("policy")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	t.Cleanup(func() {
		srv.Stop(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	conn, err := rpc.Dial(network, "policy", rpc.ClientConfig{Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = policyv1.NewPolicyServiceClient(conn).GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
	if fault.CodeOf(err) != "unauthenticated" {
		t.Errorf("err = %v, want unauthenticated", err)
	}
}

func TestAllowedValuesAreListed(t *testing.T) {
	conn := rpctest.Serve(t, "mcpbridge", func(s grpc.ServiceRegistrar) {
		mcpbridgev1.RegisterBridgeServiceServer(s, mcpbridgev1.UnimplementedBridgeServiceServer{})
	})
	_, err := mcpbridgev1.NewBridgeServiceClient(conn).Discover(t.Context(), &mcpbridgev1.DiscoverRequest{
		Server: &mcpbridgev1.Server{Id: "src_1", Transport: "pigeon"},
	})
	f := fault.From(err)
	if len(f.Fields) != 1 || f.Fields[0].Path != "server.transport" || f.Fields[0].Message != "must be one of http, sse, stdio" {
		t.Errorf("fields = %+v", f.Fields)
	}
}

func TestPatienceWithARoleThatIsAway(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := rpc.Dial(rpc.NewMemory(), "nobody", rpc.ClientConfig{Keyring: ring, As: authn.Local(), Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_, err = policyv1.NewPolicyServiceClient(conn).GetDecision(t.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
	if fault.CodeOf(err) != "unavailable" {
		t.Errorf("err = %v, want unavailable before the call's own deadline", err)
	}
}

func BenchmarkCall(b *testing.B) {
	conn := rpctest.Serve(b, "policy", func(s grpc.ServiceRegistrar) {
		policyv1.RegisterPolicyServiceServer(s, fake{get: func(context.Context) (*policyv1.Decision, error) {
			return &policyv1.Decision{Kind: policyv1.DecisionKind_DECISION_KIND_TOOL}, nil
		}})
	})
	c := policyv1.NewPolicyServiceClient(conn)
	for b.Loop() {
		if _, err := c.GetDecision(b.Context(), &policyv1.GetDecisionRequest{DecisionId: "dec_1"}); err != nil {
			b.Fatal(err)
		}
	}
}
