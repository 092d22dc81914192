package rpc_test

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/url"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/rpc"
)

// brief is a source whose certificates have a short life, and are renewed after half of it.
type brief struct {
	*meshtls.Derived
	life time.Duration

	mu    sync.Mutex
	cert  *tls.Certificate
	renew time.Time
	made  int
}

func (b *brief) Certificate() (*tls.Certificate, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.cert != nil && now.Before(b.renew) {
		return b.cert, nil
	}
	seed, err := hkdf.Key(sha256.New, []byte(s19Key), nil, "windlass mesh authority 1", ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(int64(b.made) + 8), URIs: []*url.URL{meshtls.Identity("worker"), meshtls.Identity("policy")},
		DNSNames: []string{meshtls.DerivedName}, NotBefore: now, NotAfter: now.Add(b.life),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}, &x509.Certificate{Subject: pkix.Name{CommonName: "Windlass mesh"}}, public, ed25519.NewKeyFromSeed(seed))
	b.made++
	b.cert, b.renew = &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, now.Add(b.life/2)
	return b.cert, err
}

// One client calls for longer than its certificates live. The server refuses calls over a connection whose certificate has expired, and no
// call fails: the connection is replaced in time.
func TestS19ConnectionsEndBeforeTheirCertificates(t *testing.T) {
	t.Parallel()
	const life = 8 * time.Second
	source := &brief{Derived: derive(t, s19Key, "policy", "worker"), life: life}
	s := newSecured(t, false, source)
	conn, err := rpc.Dial(rpc.TCP{Targets: map[string]string{"policy": s.addr}, TLS: source}, "policy",
		rpc.ClientConfig{Keyring: s.ring, As: authn.Service("worker")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	client := decide(conn)
	calls := 0
	for begin := time.Now(); time.Since(begin) < life+life/4; calls++ {
		if _, err := client.GetDecision(t.Context(), anyDecision); err != nil {
			t.Fatalf("call %d after %v: %v", calls, time.Since(begin), err)
		}
	}
	if source.made < 2 {
		t.Errorf("%d certificates in %d calls", source.made, calls)
	}
}

// A client that keeps its connection for longer than its certificate lives is refused.
func TestS19AnExpiredCertificateOfAnOpenConnection(t *testing.T) {
	t.Parallel()
	s := newSecured(t, false, derive(t, s19Key, "policy"))
	transport := credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true,
		GetClientCertificate: func() func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			cert, err := until(2 * time.Second).Certificate()
			return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, err }
		}(),
	})
	conn := s.connect(t, transport)
	ok := 0
	for {
		_, err := s.over(t, conn, authn.Service("worker"))
		if err == nil {
			ok++
			continue
		}
		if status.Code(err) != codes.Unauthenticated || ok == 0 {
			t.Errorf("after %d calls: %v", ok, err)
		}
		return
	}
}
