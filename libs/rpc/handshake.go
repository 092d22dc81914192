package rpc

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"

	"github.com/windlass-dev/windlass/libs/meshtls"
)

// ErrUnreachable means that no process accepts connections at an address.
var ErrUnreachable = errors.New("not reachable")

// Handshake connects to the process of a role at an address as callers of the role do, and returns the certificate that it shows. It
// returns ErrUnreachable if there is no process, and otherwise an error if a caller would refuse the certificate.
func Handshake(ctx context.Context, source meshtls.Source, role, addr string) (*x509.Certificate, error) {
	cfg, err := meshtls.ClientOf(source, role)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	if cfg.ServerName == "" {
		cfg.ServerName = host
	}
	cfg.NextProtos = []string{"h2"}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	secured := tls.Client(conn, cfg)
	defer func() { _ = secured.Close() }() // only the handshake counts
	if err := secured.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	return secured.ConnectionState().PeerCertificates[0], nil
}
