package meshtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// trustDomain is the SPIFFE trust domain of identities.
const trustDomain = "windlass"

// Identity returns the URI by which a certificate says that its process has a role: spiffe://windlass/ROLE, a subject alternative name. A
// process with several roles has several of them.
func Identity(role string) *url.URL {
	return &url.URL{Scheme: "spiffe", Host: trustDomain, Path: "/" + role}
}

// Roles returns the roles that a certificate gives its process.
func Roles(cert *x509.Certificate) []string {
	var out []string
	for _, u := range cert.URIs {
		role := strings.TrimPrefix(u.Path, "/")
		if u.Scheme == "spiffe" && u.Host == trustDomain && role != "" && !strings.Contains(role, "/") {
			out = append(out, role)
		}
	}
	return out
}

// AskingServer returns the configuration of a server that asks clients for a certificate and accepts those without one, or with one that
// is not valid: the caller of VerifyClient decides what they may do.
func AskingServer(s Source) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert, SessionTicketsDisabled: true,
		DynamicRecordSizingDisabled: wholeRecords,
		GetCertificate:              func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate() },
	}
}

// ErrNoCertificate means that a client has shown no certificate.
var ErrNoCertificate = errors.New("the client has no certificate")

// VerifyClient checks the certificate of a client of an AskingServer against the present authorities and the clock, and returns its roles.
func VerifyClient(s Source, state tls.ConnectionState) ([]string, error) {
	if len(state.PeerCertificates) == 0 {
		return nil, ErrNoCertificate
	}
	pool, err := s.Authorities()
	if err != nil {
		return nil, err
	}
	opts := x509.VerifyOptions{Roots: pool, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := state.PeerCertificates[0].Verify(opts); err != nil {
		return nil, fmt.Errorf("verify the client's certificate: %w", err)
	}
	return Roles(state.PeerCertificates[0]), nil
}

// ClientOf is Client for servers that must have a role.
func ClientOf(s Source, role string) (*tls.Config, error) {
	c, err := Client(s)
	if err != nil {
		return nil, err
	}
	verify := c.VerifyConnection
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if verify != nil {
			if err := verify(state); err != nil {
				return err
			}
		}
		if len(state.PeerCertificates) == 0 || !slices.Contains(Roles(state.PeerCertificates[0]), role) {
			return fmt.Errorf("the server's certificate does not name %s", Identity(role))
		}
		return nil
	}
	return c, nil
}
