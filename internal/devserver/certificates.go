package devserver

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// ServerName is the name in the server's certificate, besides those of loopback.
	ServerName = "temporal.windlass.internal"
	// authorityPurpose separates these certificates from those of the mesh: neither is accepted in place of the other.
	authorityPurpose = "windlass temporal authority 1"
	// validity of the certificates. The files are written again at each start, and every renewEvery, so the time is for clients that read them
	// once and connect again long after.
	validity   = 90 * 24 * time.Hour
	renewEvery = 24 * time.Hour
)

// Certificates names the files with which Temporal's server and its clients know each other. Only their owner may read them.
type Certificates struct {
	// CA is the certificate of the authority.
	CA string
	// Server and Client hold a certificate and its key each.
	Server, Client string
}

// InDir returns the names of the files in a folder.
func InDir(dir string) Certificates {
	return Certificates{CA: filepath.Join(dir, "ca.pem"), Server: filepath.Join(dir, "server.pem"), Client: filepath.Join(dir, "client.pem")}
}

// Issue writes certificates that follow from a mesh's key into a folder, which it makes if necessary. Those of before stay valid.
func Issue(dir string, key secret.Value) (Certificates, error) {
	files := InDir(dir)
	authority, err := meshtls.NewAuthority([]byte(key.Reveal()), authorityPurpose, "Windlass Temporal")
	if err != nil {
		return files, fmt.Errorf("certificates for Temporal: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return files, fmt.Errorf("certificates for Temporal: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a folder
		return files, fmt.Errorf("certificates for Temporal: %w", err)
	}
	if err := dirid.Write(files.CA, authority.PEM()); err != nil {
		return files, fmt.Errorf("certificates for Temporal: %w", err)
	}
	// The server's parts call each other with the server's certificate.
	for file, uses := range map[string][]x509.ExtKeyUsage{
		files.Server: {x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, files.Client: {x509.ExtKeyUsageClientAuth},
	} {
		if err := issue(authority, file, uses); err != nil {
			return files, fmt.Errorf("certificates for Temporal: %w", err)
		}
	}
	return files, nil
}

func issue(authority *meshtls.Authority, file string, uses []x509.ExtKeyUsage) error {
	cert, err := authority.Issue(x509.Certificate{
		Subject: pkix.Name{CommonName: ServerName}, DNSNames: []string{ServerName, "localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, ExtKeyUsage: uses,
	}, time.Now(), validity)
	if err != nil {
		return err
	}
	text, err := meshtls.PEM(cert)
	if err != nil {
		return err
	}
	return dirid.Write(file, text)
}

// Renew writes the certificates of a folder again from time to time, until ctx ends.
func Renew(ctx context.Context, dir string, key secret.Value, log *slog.Logger) {
	for backoff.Sleep(ctx, renewEvery) == nil {
		if _, err := Issue(dir, key); err != nil {
			log.ErrorContext(ctx, "certificates for temporal cannot be renewed", "error", err, "valid_for_at_most", validity)
		}
	}
}
