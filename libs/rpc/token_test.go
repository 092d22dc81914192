package rpc_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// tokenPort is a server on TCP that accepts the tokens of an issuer, and callers on this machine.
type tokenPort struct {
	idp    *bearertest.Issuer
	log    *safeBuffer
	client policyv1.PolicyServiceClient
	turns  sessionsv1.TurnServiceClient
	seen   chan metadata.MD
	sealer *callertoken.Sealer
	tokens chan []byte // sealed, as handlers have them
}

func newTokenPort(t *testing.T) *tokenPort {
	t.Helper()
	return newTokenPortWith(t, rpc.ServerConfig{Authorizer: rpctest.AllowAll{}})
}

// newTokenPortWith returns a port with an authorizer and a counter of requests.
func newTokenPortWith(t *testing.T, cfg rpc.ServerConfig) *tokenPort {
	t.Helper()
	p := &tokenPort{idp: bearertest.New(t), log: &safeBuffer{}, seen: make(chan metadata.MD, 1), tokens: make(chan []byte, 1)}
	var err error
	if p.sealer, err = callertoken.NewSealer(secret.New(strings.Repeat("k", 32))); err != nil {
		t.Fatal(err)
	}
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v, err := bearer.New([]bearer.Issuer{p.idp.Config()}, bearer.Deps{
		Client: &http.Client{Timeout: 5 * time.Second, Transport: transport}, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: log, Keyring: ring, Authorizer: cfg.Authorizer, Requests: cfg.Requests,
		Authenticator: authn.NewAuthenticator([]authn.TokenVerifier{v}, []authn.PeerVerifier{authn.Loopback{}}), Tokens: p.sealer,
	})
	if err != nil {
		t.Fatal(err)
	}
	policyv1.RegisterPolicyServiceServer(srv, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		p.seen <- md
		select {
		case p.tokens <- callertoken.From(ctx):
		default:
		}
		return &policyv1.Decision{Subject: authn.From(ctx).GetSubject()}, nil
	}})
	sessionsv1.RegisterTurnServiceServer(srv, endless{})
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
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p.client, p.turns = policyv1.NewPolicyServiceClient(conn), sessionsv1.NewTurnServiceClient(conn)
	return p
}

// endless watches turns that never end.
type endless struct {
	sessionsv1.UnimplementedTurnServiceServer
}

func (endless) WatchTurn(_ *sessionsv1.WatchTurnRequest, s grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
	if err := s.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	<-s.Context().Done()
	return s.Context().Err()
}

func TestStreamsEndWhenTheTokenDoes(t *testing.T) {
	p := newTokenPort(t)
	// It has expired and is still accepted, for a second of the leeway.
	token := p.idp.Token("alice", jwt.MapClaims{"exp": time.Now().Add(-28 * time.Second).Unix()})
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	stream, err := p.turns.WatchTurn(ctx, &sessionsv1.WatchTurnRequest{TurnId: "trn_1"})
	if err != nil {
		t.Fatal(err)
	}
	if md, err := stream.Header(); err != nil || md == nil {
		t.Fatalf("the stream does not begin: %v", err)
	}
	if _, err := stream.Recv(); status.Code(err) != codes.Unauthenticated || fault.From(err).Message == "" {
		t.Errorf("it ends with %v", err)
	}
}

func (p *tokenPort) call(t *testing.T, token string) (*policyv1.Decision, error) {
	t.Helper()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	return p.client.GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"})
}

func TestS1TokensAtAServersPort(t *testing.T) {
	p := newTokenPort(t)
	texts := map[string]bool{}
	for _, a := range p.idp.Attacks() {
		d, err := p.call(t, a.Token)
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v, %v", a.Name, d, err)
		}
		texts[fault.From(err).Text()] = true
	}
	if len(texts) != 1 {
		t.Errorf("the errors tell refusals apart: %v", texts)
	}
	if len(p.seen) > 0 {
		t.Error("a refused call reached the handler")
	}
}

func TestS2AFloodAtAServersPort(t *testing.T) {
	p := newTokenPort(t)
	if _, err := p.call(t, p.idp.Token("alice")); err != nil {
		t.Fatal(err)
	}
	<-p.seen
	p.idp.SetDown(true)
	for range 200 {
		bad := bearertest.Sign(t, jwt.SigningMethodHS256, []byte("x"), p.idp.Claims("mallory"), map[string]any{"alg": "RS256", "kid": "nope"})
		if _, err := p.call(t, bad); status.Code(err) != codes.Unauthenticated {
			t.Fatal(err)
		}
	}
	if n := p.idp.Fetches(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if _, err := p.call(t, p.idp.Token("bob")); err != nil {
		t.Errorf("a known key while the issuer is down: %v", err)
	}
}

func TestS3ATokenGoesNoFurtherThanTheServer(t *testing.T) {
	p := newTokenPort(t)
	token := p.idp.Token("alice")
	d, err := p.call(t, token)
	if err != nil || d.GetSubject() != "corp:alice" {
		t.Fatalf("got %v, %v", d, err)
	}
	if md := <-p.seen; len(md.Get("authorization")) > 0 {
		t.Errorf("the handler can pass the token on: %v", md)
	}
	if _, err := p.call(t, token+"x"); status.Code(err) != codes.Unauthenticated {
		t.Error(err)
	}
	log := p.log.String()
	if !strings.Contains(log, "unauthenticated") && !strings.Contains(log, "Unauthenticated") {
		t.Errorf("the refusal is not in the log: %s", log)
	}
	for _, part := range strings.Split(token, ".")[1:] {
		if strings.Contains(log, part) {
			t.Errorf("the log holds a part of the token: %s", log)
		}
	}
}

func TestS3OnlyTheSealedTokenGoesAlongWithItsUser(t *testing.T) {
	p := newTokenPort(t)
	token := p.idp.Token("alice")
	if _, err := p.call(t, token); err != nil {
		t.Fatal(err)
	}
	<-p.seen
	sealed := <-p.tokens
	if got, err := p.sealer.Open(sealed, authn.DefaultTenant, "corp:alice"); err != nil || got.Reveal() != token {
		t.Errorf("the handler has another token: %v", err)
	}
	for part := range strings.SplitSeq(token, ".") {
		if strings.Contains(string(sealed), part) {
			t.Error("the sealed token can be read")
		}
	}
	for _, other := range [][2]string{{authn.DefaultTenant, "corp:bob"}, {"acme", "corp:alice"}} {
		if _, err := p.sealer.Open(sealed, other[0], other[1]); err == nil {
			t.Errorf("%v can open it", other)
		}
	}
	// A caller from outside cannot bring a sealed token, not even its own.
	ctx := metadata.AppendToOutgoingContext(t.Context(), callertoken.Metadata, string(sealed))
	if _, err := p.client.GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"}); err != nil {
		t.Fatal(err)
	}
	if md := <-p.seen; len(md.Get(callertoken.Metadata)) > 0 || <-p.tokens != nil {
		t.Error("a sealed token of a caller from outside reached the handler")
	}
}

func TestS3ARoleSendsATokenOnlyForItsUser(t *testing.T) {
	p := newTokenPort(t)
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	network := rpc.NewMemory()
	srv, err := rpc.NewServer(rpc.ServerConfig{Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{}})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	policyv1.RegisterPolicyServiceServer(srv, fake{get: func(ctx context.Context) (*policyv1.Decision, error) {
		got <- callertoken.From(ctx)
		return &policyv1.Decision{}, nil
	}})
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
	alice := &policyv1.Principal{Tenant: authn.DefaultTenant, Subject: "corp:alice", Issuer: "corp"}
	ctx := callertoken.With(authn.With(t.Context(), alice), p.sealer.Seal(secret.New("token"), alice))
	for _, row := range []struct {
		name string
		as   *policyv1.Principal
		want bool
	}{{"forwarding the user", nil, true}, {"for itself", authn.Service("registry"), false}} {
		conn, err := rpc.Dial(network, "policy", rpc.ClientConfig{Keyring: ring, As: row.as})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := policyv1.NewPolicyServiceClient(conn).GetDecision(ctx, &policyv1.GetDecisionRequest{DecisionId: "dec_1"}); err != nil {
			t.Fatal(err)
		}
		if sealed := <-got; (sealed != nil) != row.want {
			t.Errorf("%s: the token goes along: %t", row.name, sealed != nil)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
}
