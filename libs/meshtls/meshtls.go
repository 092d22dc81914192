// Package meshtls gives the processes of a mesh certificates for mutual TLS: derived from the mesh's key, which needs no files, or read
// from files that may be replaced while a process runs.
package meshtls

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// Source supplies the certificate of this process, and the authorities that certificates of others are checked against. Both may change.
type Source interface {
	// Certificate returns the present certificate with its key.
	Certificate() (*tls.Certificate, error)
	// Authorities returns those whose certificates are accepted; nil means those of the operating system.
	Authorities() (*x509.CertPool, error)
	// ServerName is the name that servers' certificates must have; empty means the name or address that was dialled.
	ServerName() string
}

// wholeRecords sends a message in as few TLS records as possible. Package tls otherwise begins each burst with records of the size of a
// packet, so that a browser can show the beginning of a page: here no client reads a part of a message, and each record is a system call.
const wholeRecords = true

// Server returns the configuration of a server: clients must have a certificate of the same authorities.
func Server(s Source) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			cert, err := s.Certificate()
			if err != nil {
				return nil, err
			}
			pool, err := s.Authorities()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, Certificates: []tls.Certificate{*cert},
				SessionTicketsDisabled:      true, // a ticket would outlive the authorities of its time
				DynamicRecordSizingDisabled: wholeRecords,
			}, nil
		},
		// Servers that look here before they serve find that there is a certificate.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate() },
	}
}

// Public returns the configuration of a server for clients without a certificate, such as browsers: TLS 1.2 or later.
func Public(s Source) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.Certificate() },
	}
}

// Client returns the configuration of a client, which shows its certificate to servers that ask. Without a ServerName, it checks the name
// or address that is dialled, against the authorities of now instead of those of each connection.
func Client(s Source) (*tls.Config, error) {
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, ServerName: s.ServerName(), DynamicRecordSizingDisabled: wholeRecords,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return s.Certificate() },
	}
	if c.ServerName == "" {
		var err error
		c.RootCAs, err = s.Authorities()
		return c, err
	}
	c.InsecureSkipVerify = true
	c.VerifyConnection = func(state tls.ConnectionState) error { return verify(s, state) }
	return c, nil
}

// Peer returns the configuration of a process that is server and client, as the nodes of a NATS cluster are.
func Peer(s Source) (*tls.Config, error) {
	c, err := Client(s)
	if err != nil {
		return nil, err
	}
	server := Server(s)
	c.ClientAuth, c.GetConfigForClient, c.GetCertificate = server.ClientAuth, server.GetConfigForClient, server.GetCertificate
	return c, nil
}

// verify checks a server's certificate. The connection's own idea of the name does not do: it is empty for an address.
func verify(s Source, state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	pool, err := s.Authorities()
	if err != nil {
		return err
	}
	opts := x509.VerifyOptions{
		Roots: pool, DNSName: s.ServerName(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, c := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := state.PeerCertificates[0].Verify(opts); err != nil {
		return fmt.Errorf("verify the server's certificate: %w", err)
	}
	return nil
}
