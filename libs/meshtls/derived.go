package meshtls

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
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
)

// Derived is a source whose certificate authority is derived from a secret. Processes that hold the secret accept each other and reject all
// others. Each process has its own key, which is rotated.
type Derived struct {
	authority  *Authority
	pool       *x509.CertPool
	identities []*url.URL
	now        func() time.Time

	mu    sync.Mutex
	cert  *tls.Certificate
	renew time.Time
}

// FromKey returns the source for a secret. Its certificates say that the process has the roles.
func FromKey(secret []byte, roles ...string) (*Derived, error) {
	authority, err := NewAuthority(secret, authorityPurpose, "Windlass mesh")
	if err != nil {
		return nil, err
	}
	d := &Derived{authority: authority, pool: authority.Pool(), now: time.Now}
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
	cert, err := d.authority.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: DerivedName}, DNSNames: []string{DerivedName}, URIs: d.identities,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, now, validity)
	if err != nil {
		return nil, err
	}
	d.cert, d.renew = cert, now.Add(validity/2)
	return d.cert, nil
}

// Authorities implements Source.
func (d *Derived) Authorities() (*x509.CertPool, error) { return d.pool, nil }

// ServerName implements Source.
func (*Derived) ServerName() string { return DerivedName }
