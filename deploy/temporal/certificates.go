package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"go.temporal.io/server/common/rpc/encryption"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// certificateFiles are PEM files, of which the server is the only owner. All are empty or none.
type certificateFiles struct{ cert, key, ca, serverName string }

func (f certificateFiles) check() error {
	given := 0
	for _, name := range []string{f.cert, f.key, f.ca} {
		if name != "" {
			given++
		}
	}
	switch {
	case given != 0 && given != 3:
		return errors.New("--tls-cert, --tls-key and --tls-ca go together: set all or none")
	case given == 0 && f.serverName != "":
		return errors.New("--tls-server-name is set, but no certificate: set --tls-cert, --tls-key and --tls-ca")
	}
	return nil
}

// certificates is how all ports know their clients: mutual TLS, with files that are read again when they have changed. Nil means that every
// client is accepted, in clear text.
type certificates struct {
	files certificateFiles

	mu   sync.Mutex
	seen [3]time.Time
	pair *tls.Certificate
	pool *x509.CertPool
}

// loadCertificates reads the files; it returns nil if there are none.
func loadCertificates(files certificateFiles) (*certificates, error) {
	if files.cert == "" {
		return nil, nil
	}
	c := &certificates{files: files}
	if _, _, err := c.current(); err != nil {
		return nil, err
	}
	return c, nil
}

// current returns the certificate and the authorities of now. While changed files cannot be read, it returns those of before.
func (c *certificates) current() (*tls.Certificate, *x509.CertPool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.refresh()
	if c.pair == nil {
		return nil, nil, err
	}
	return c.pair, c.pool, nil
}

func (c *certificates) refresh() error {
	var seen [3]time.Time
	for i, name := range []string{c.files.cert, c.files.key, c.files.ca} {
		info, err := os.Stat(name)
		if err != nil {
			return fmt.Errorf("read certificates: %w", err)
		}
		seen[i] = info.ModTime()
	}
	if c.pair != nil && seen == c.seen {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.cert, c.files.key)
	if err != nil {
		return fmt.Errorf("read certificate %s and key %s: %w", c.files.cert, c.files.key, err)
	}
	raw, err := os.ReadFile(c.files.ca)
	if err != nil {
		return fmt.Errorf("read authorities: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(raw) {
		return fmt.Errorf("%s holds no certificate", c.files.ca)
	}
	c.pair, c.pool, c.seen = &pair, pool, seen
	return nil
}

// server is the configuration of a listener that speaks a protocol: "h2" or "http/1.1".
func (c *certificates) server(protocol string) *tls.Config {
	own := func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		pair, _, err := c.current()
		return pair, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, GetCertificate: own, NextProtos: []string{protocol},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			pair, pool, err := c.current()
			if err != nil {
				return nil, err
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool, Certificates: []tls.Certificate{*pair},
				NextProtos: []string{protocol}, SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true,
			}, nil
		},
	}
}

// client is the configuration of this process as a client of its own ports.
func (c *certificates) client() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, DynamicRecordSizingDisabled: true,
		// The check below is against the authorities of now.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection:   c.verify,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, _, err := c.current()
			return pair, err
		},
	}
}

// verify accepts a server that has this process's own name, which another one with a certificate of the same authority may lack.
func (c *certificates) verify(state tls.ConnectionState) error {
	_, pool, err := c.current()
	if err != nil {
		return err
	}
	if len(state.PeerCertificates) == 0 {
		return errors.New("the server has no certificate")
	}
	opts := x509.VerifyOptions{
		Roots: pool, DNSName: c.files.serverName, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, cert := range state.PeerCertificates[1:] {
		opts.Intermediates.AddCert(cert)
	}
	_, err = state.PeerCertificates[0].Verify(opts)
	return err
}

// provider is what the Temporal server takes its configurations from, nil without certificates.
func (c *certificates) provider() encryption.TLSConfigProvider {
	if c == nil {
		return nil
	}
	return &encryption.FixedTLSConfigProvider{
		FrontendServerConfig: c.server("h2"), FrontendClientConfig: c.client(),
		InternodeServerConfig: c.server("h2"), InternodeClientConfig: c.client(),
	}
}

// credentials are those of a client of the frontend.
func (c *certificates) credentials() credentials.TransportCredentials {
	if c == nil {
		return insecure.NewCredentials()
	}
	return credentials.NewTLS(c.client())
}
