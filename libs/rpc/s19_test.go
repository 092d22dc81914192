package rpc_test

import (
	"context"
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	s19Key   = "the key of the mesh under test, long enough"
	s19Other = "the key of another mesh, which is as long"
)

// secured is a server that demands certificates of callers with a mesh token.
type secured struct {
	addr string
	ring *authn.Keyring
	stop func()
}

func newSecured(t testing.TB, accept bool, source meshtls.Source) *secured {
	t.Helper()
	ring, err := authn.NewKeyring([]byte(s19Key))
	if err != nil {
		t.Fatal(err)
	}
	srv, err := rpc.NewServer(rpc.ServerConfig{
		Log: slog.New(slog.DiscardHandler), Keyring: ring, Authorizer: rpctest.AllowAll{},
		Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}}),
		TLS: &rpc.ServerTLS{Source: source, Accept: accept, Callers: map[string][]string{
			"windlass.policy.v1.PolicyService": {"gateway", "worker"},
		}},
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
	s := &secured{addr: l.Addr().String(), ring: ring}
	s.stop = sync.OnceFunc(func() {
		srv.Stop(context.Background())
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(s.stop)
	return s
}

func derive(t testing.TB, key string, roles ...string) *meshtls.Derived {
	t.Helper()
	d, err := meshtls.FromKey([]byte(key), roles...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// ask calls with a mesh token of a role over a connection with these credentials.
func (s *secured) ask(t *testing.T, as *policyv1.Principal, transport credentials.TransportCredentials) (string, error) {
	t.Helper()
	return s.over(t, s.connect(t, transport), as)
}

func (s *secured) connect(t *testing.T, transport credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(s.addr, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// over calls with a mesh token of a role, if it is not nil, over a connection.
func (s *secured) over(t *testing.T, conn *grpc.ClientConn, as *policyv1.Principal) (string, error) {
	t.Helper()
	ctx := t.Context()
	if as != nil {
		token, err := s.ring.Sign(as)
		if err != nil {
			t.Fatal(err)
		}
		ctx = metadata.AppendToOutgoingContext(ctx, authn.Header, token)
	}
	d, err := policyv1.NewPolicyServiceClient(conn).GetDecision(ctx, anyDecision)
	return d.GetSubject(), err
}

var plaintext = insecure.NewCredentials()

// clientOf shows the certificate of a source, and accepts any server.
func clientOf(t *testing.T, s interface {
	Certificate() (*tls.Certificate, error)
},
) credentials.TransportCredentials {
	t.Helper()
	cfg := &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true}
	if s != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate() }
	}
	return credentials.NewTLS(cfg)
}

// until is a source whose certificate, of the mesh's own authority, ends in this time.
type until time.Duration

// Certificate returns the worker's certificate.
func (u until) Certificate() (*tls.Certificate, error) {
	seed, err := hkdf.Key(sha256.New, []byte(s19Key), nil, "windlass mesh authority 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(7), URIs: []*url.URL{meshtls.Identity("worker")},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Duration(u)),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &x509.Certificate{Subject: pkix.Name{CommonName: "Windlass mesh"}}, public, ed25519.NewKeyFromSeed(seed))
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, err
}

func TestS19MeshTokensNeedTheCertificateOfTheirRole(t *testing.T) {
	s := newSecured(t, false, derive(t, s19Key, "policy"))
	worker, user := authn.Service("worker"), authn.User("alice")
	for name, tc := range map[string]struct {
		as   *policyv1.Principal
		with credentials.TransportCredentials
		want codes.Code
	}{
		"the worker":                          {worker, clientOf(t, derive(t, s19Key, "worker")), codes.OK},
		"a process with two roles":            {worker, clientOf(t, derive(t, s19Key, "registry", "worker")), codes.OK},
		"a user, by the gateway":              {user, clientOf(t, derive(t, s19Key, "gateway")), codes.OK},
		"no certificate":                      {worker, clientOf(t, nil), codes.Unauthenticated},
		"no TLS":                              {worker, plaintext, codes.Unauthenticated},
		"a user without certificate":          {user, clientOf(t, nil), codes.Unauthenticated},
		"a certificate of another CA":         {worker, clientOf(t, derive(t, s19Other, "worker")), codes.Unauthenticated},
		"an expired certificate":              {worker, clientOf(t, until(-time.Minute)), codes.Unauthenticated},
		"the same before it expired":          {worker, clientOf(t, until(time.Minute)), codes.OK},
		"a certificate without a role":        {worker, clientOf(t, derive(t, s19Key)), codes.PermissionDenied},
		"a role that may not call":            {authn.Service("bus"), clientOf(t, derive(t, s19Key, "bus")), codes.PermissionDenied},
		"a token of another role":             {worker, clientOf(t, derive(t, s19Key, "gateway")), codes.PermissionDenied},
		"local, with TLS":                     {nil, clientOf(t, nil), codes.OK},
		"local, without TLS":                  {nil, plaintext, codes.OK},
		"local, with a certificate of others": {nil, clientOf(t, derive(t, s19Other, "worker")), codes.Unauthenticated},
	} {
		if who, err := s.ask(t, tc.as, tc.with); status.Code(err) != tc.want {
			t.Errorf("%s: %q %v, want %s", name, who, err, tc.want)
		}
	}
}

// During an upgrade processes that do not use TLS are accepted, and a certificate is checked all the same.
func TestS19AcceptTakesBoth(t *testing.T) {
	s := newSecured(t, true, derive(t, s19Key, "policy"))
	worker := authn.Service("worker")
	for name, tc := range map[string]struct {
		with credentials.TransportCredentials
		want codes.Code
	}{
		"no TLS": {plaintext, codes.OK}, "the worker": {clientOf(t, derive(t, s19Key, "worker")), codes.OK},
		"another CA":   {clientOf(t, derive(t, s19Other, "worker")), codes.Unauthenticated},
		"another role": {clientOf(t, derive(t, s19Key, "bus")), codes.PermissionDenied},
	} {
		if who, err := s.ask(t, worker, tc.with); status.Code(err) != tc.want {
			t.Errorf("%s: %q %v, want %s", name, who, err, tc.want)
		}
	}
}

// A client does not talk to a server of another mesh, nor to a process that has another role.
func TestS19ClientsCheckTheServersRole(t *testing.T) {
	for name, tc := range map[string]struct {
		server meshtls.Source
		want   codes.Code
	}{
		"policy": {derive(t, s19Key, "policy"), codes.OK}, "a worker": {derive(t, s19Key, "worker"), codes.Unavailable},
		"another mesh": {derive(t, s19Other, "policy"), codes.Unavailable},
	} {
		s := newSecured(t, false, tc.server)
		conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"policy": s.addr}, TLS: derive(t, s19Key, "worker")}, "policy",
			rpc.ClientConfig{Keyring: s.ring, As: authn.Service("worker"), Patience: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = decide(conn).GetDecision(t.Context(), anyDecision)
		if got := fault.Status(err).Code(); got != tc.want && (err != nil || tc.want != codes.OK) {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
		_ = conn.Close()
		s.stop()
	}
}

// turning is a source whose certificate is a new one at each connection.
type turning struct {
	*meshtls.Derived
	made atomic.Int64
}

func (s *turning) Certificate() (*tls.Certificate, error) {
	s.made.Add(1)
	d, err := meshtls.FromKey([]byte(s19Key), "policy", "worker")
	if err != nil {
		return nil, err
	}
	return d.Certificate()
}

// Certificates change on both sides while calls run, and connections are opened and closed: no call fails.
func TestS19RotationDropsNoCall(t *testing.T) {
	source := &turning{Derived: derive(t, s19Key, "policy", "worker")}
	s := newSecured(t, false, source)
	var calls atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 15 {
				conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"policy": s.addr}, TLS: source}, "policy",
					rpc.ClientConfig{Keyring: s.ring, As: authn.Service("worker")})
				if err != nil {
					t.Error(err)
					return
				}
				for range 5 {
					if _, err := decide(conn).GetDecision(t.Context(), anyDecision); err != nil {
						t.Error(err)
					}
					calls.Add(1)
				}
				_ = conn.Close()
			}
		})
	}
	group.Wait()
	if calls.Load() != 300 || source.made.Load() < 60 {
		t.Errorf("%d calls, %d certificates", calls.Load(), source.made.Load())
	}
}

func BenchmarkCallOverTCP(b *testing.B) {
	for name, source := range map[string]meshtls.Source{"tls": derive(b, s19Key, "policy", "worker"), "clear": nil} {
		b.Run(name, func(b *testing.B) {
			s := newSecured(b, true, derive(b, s19Key, "policy"))
			conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"policy": s.addr}, TLS: source}, "policy",
				rpc.ClientConfig{Keyring: s.ring, As: authn.Service("worker")})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			client := decide(conn)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := client.GetDecision(b.Context(), anyDecision); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
