package meshtls

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net/url"
	"sync"
	"time"
)

const (
	// DerivedName is the name that all derived certificates have.
	DerivedName = "mesh.windlass.internal"
	// authorityPurpose separates the authority's key from other keys derived from the same secret.
	authorityPurpose = "windlass mesh authority 1"
	// validity of a derived certificate; it is renewed at half of it.
	validity = 24 * time.Hour
	// skew is how far the clocks of two processes may be apart.
	skew = time.Hour
)

// Derived is a source whose certificate authority is derived from a secret. Processes that hold the secret accept each other and reject all
// others. Each process has its own key, which is rotated.
type Derived struct {
	authority  *x509.Certificate
	signer     ed25519.PrivateKey
	pool       *x509.CertPool
	identities []*url.URL
	now        func() time.Time

	mu    sync.Mutex
	cert  *tls.Certificate
	renew time.Time
}

// FromKey returns the source for a secret. Its certificates say that the process has the roles.
func FromKey(secret []byte, roles ...string) (*Derived, error) {
	if len(secret) < 16 {
		return nil, fmt.Errorf("the secret has %d bytes; at least 16 are needed", len(secret))
	}
	seed, err := hkdf.Key(sha256.New, secret, nil, authorityPurpose, ed25519.SeedSize)
	if err != nil {
		return nil, fmt.Errorf("derive the authority: %w", err)
	}
	d := &Derived{signer: ed25519.NewKeyFromSeed(seed), pool: x509.NewCertPool(), now: time.Now}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Windlass mesh"},
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, d.signer.Public(), d.signer)
	if err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	if d.authority, err = x509.ParseCertificate(raw); err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	d.pool.AddCert(d.authority)
	for _, role := range roles {
		d.identities = append(d.identities, Identity(role))
	}
	return d, nil
}

// Certificate implements Source.
func (d *Derived) Certificate() (*tls.Certificate, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.cert != nil && now.Before(d.renew) {
		return d.cert, nil
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: DerivedName}, DNSNames: []string{DerivedName}, URIs: d.identities,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		NotBefore: now.Add(-skew), NotAfter: now.Add(validity),
	}, d.authority, public, d.signer)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	d.cert, d.renew = &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: private}, now.Add(validity/2)
	return d.cert, nil
}

// Authorities implements Source.
func (d *Derived) Authorities() (*x509.CertPool, error) { return d.pool, nil }

// ServerName implements Source.
func (*Derived) ServerName() string { return DerivedName }
