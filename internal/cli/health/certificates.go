package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/internal/assembly"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/rpc"
)

const (
	// soon is how long before its end a certificate is reported; of one that is valid for a short time, when a fifth of that is left.
	soon = 30 * 24 * time.Hour
	// handshakeTimeout bounds the connection to one process.
	handshakeTimeout = 3 * time.Second
	day              = 24 * time.Hour
)

// Certificates checks the certificates of a configuration: that of the gateway, that for Temporal, that of the process in the mesh, and
// those that the processes in mesh.targets show.
func Certificates(ctx context.Context, file string, environ []string) []Finding {
	cfg, err := assembly.Load(assembly.Defaults(), config.Options{File: file, Environ: environ})
	if err != nil {
		return []Finding{failed("configuration", err)}
	}
	findings := []Finding{gatewayCertificate(cfg), temporalCertificate(cfg)}
	network, err := cfg.Mesh.Network(nil)
	switch {
	case err != nil:
		f := failed("mesh.tls", err)
		f.Todo = "Set mesh.key, or mesh.tls.cert, mesh.tls.key and mesh.tls.ca to PEM files that belong together."
		return append(findings, f)
	case network.TLS == nil:
		return append(findings, Finding{
			"mesh.tls", Warning, "mode accept: processes call each other in clear text", "Set mesh.tls.mode to required once all processes use TLS.",
		})
	}
	findings = append(findings, meshCertificate(cfg, network.TLS))
	for _, role := range slices.Sorted(maps.Keys(network.Targets)) {
		for addr := range strings.SplitSeq(network.Targets[role], ",") {
			findings = append(findings, processCertificate(ctx, network.TLS, role, strings.TrimSpace(addr)))
		}
	}
	return findings
}

// gatewayCertificate checks gateway.tls.
func gatewayCertificate(cfg assembly.Config) Finding {
	const name = "gateway.tls"
	own := cfg.Gateway.TLS
	if own.Cert == "" && own.Key == "" {
		return Finding{Check: name, Outcome: OK, Detail: "none: HTTP in clear text, for this machine or behind a proxy that ends TLS"}
	}
	source, err := meshtls.KeyPair(own.Cert, own.Key)
	if err != nil {
		f := failed(name, err)
		f.Todo = "Set gateway.tls.cert and gateway.tls.key to PEM files that belong together."
		return f
	}
	leaf, err := leafOf(source)
	if err != nil {
		return failed(name, err)
	}
	if u, err := url.Parse(cfg.Gateway.URL); err == nil && u.Hostname() != "" {
		if err := leaf.VerifyHostname(u.Hostname()); err != nil {
			return Finding{name, Broken, err.Error(), "Replace " + own.Cert + ", or correct gateway.url."}
		}
	}
	return validity(name, "", leaf, "Replace "+own.Cert+".")
}

// temporalCertificate checks temporal.tls.
func temporalCertificate(cfg assembly.Config) Finding {
	const name = "temporal.tls"
	own := cfg.Temporal.TLS
	secure, err := cfg.Temporal.Client(slog.New(slog.DiscardHandler))
	switch {
	case err != nil:
		f := failed(name, err)
		f.Todo = "Set temporal.tls.cert and temporal.tls.key to PEM files that belong together, and temporal.tls.ca to the server's authorities."
		return f
	case secure.TLS == nil && !authn.LoopbackName(cfg.Temporal.Address):
		return Finding{
			name, Warning, cfg.Temporal.Address + " is called in clear text, and without a credential",
			"Have Temporal require certificates or API keys, and set temporal.tls or temporal.api_key.",
		}
	case own.Cert == "":
		return Finding{Check: name, Outcome: OK, Detail: "this process shows no certificate"}
	}
	source, err := meshtls.KeyPair(own.Cert, own.Key)
	if err != nil {
		return failed(name, err)
	}
	leaf, err := leafOf(source)
	if err != nil {
		return failed(name, err)
	}
	return validity(name, "", leaf, "Replace "+own.Cert+".")
}

// certified has a certificate.
type certified interface {
	Certificate() (*tls.Certificate, error)
}

func leafOf(s certified) (*x509.Certificate, error) {
	cert, err := s.Certificate()
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(cert.Certificate[0])
}

// meshCertificate checks what this process shows to others: whether they trust it, and which roles it names.
func meshCertificate(cfg assembly.Config, source meshtls.Source) Finding {
	const name = "mesh.tls"
	if cfg.Mesh.TLS.Cert == "" {
		return Finding{Check: name, Outcome: OK, Detail: "certificates are derived from mesh.key, and renewed by each process"}
	}
	todo := "Replace " + cfg.Mesh.TLS.Cert + ", or the authorities in " + cfg.Mesh.TLS.CA + "."
	leaf, err := leafOf(source)
	if err != nil {
		return failed(name, err)
	}
	roots, err := source.Authorities()
	if err != nil {
		return failed(name, err)
	}
	if f := validity(name, "", leaf, todo); f.Outcome == Broken { // which Verify would report less clearly
		return f
	}
	for _, use := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		opts := x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{use}, Intermediates: intermediates(source)}
		if _, err := leaf.Verify(opts); err != nil {
			return Finding{name, Broken, err.Error(), todo}
		}
	}
	if n := source.ServerName(); n != "" && leaf.VerifyHostname(n) != nil {
		return Finding{name, Broken, fmt.Sprintf("the certificate has not the name in mesh.tls.server_name, %q", n), todo}
	}
	roles := meshtls.Roles(leaf)
	if len(roles) == 0 {
		todo = "Issue it with a URI " + meshtls.Identity("ROLE").String() + " for each role."
		return Finding{name, Broken, "the certificate names no role", todo}
	}
	return validity(name, "names "+strings.Join(roles, ", ")+"; ", leaf, todo)
}

// intermediates are the other certificates in the file.
func intermediates(s certified) *x509.CertPool {
	pool := x509.NewCertPool()
	if cert, err := s.Certificate(); err == nil {
		for _, raw := range cert.Certificate[1:] {
			if c, err := x509.ParseCertificate(raw); err == nil {
				pool.AddCert(c)
			}
		}
	}
	return pool
}

// processCertificate connects to a process as others do, and checks what it shows.
func processCertificate(ctx context.Context, source meshtls.Source, role, addr string) Finding {
	name := "mesh " + role
	if _, _, err := net.SplitHostPort(addr); err != nil || strings.Contains(addr, "//") {
		return Finding{Check: name, Outcome: OK, Detail: addr + " is not checked: it is no host and port"}
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	shown, err := rpc.Handshake(ctx, source, role, addr)
	switch {
	case errors.Is(err, rpc.ErrUnreachable):
		return Finding{name, Warning, err.Error(), "Start the process, or correct mesh.targets." + role + "."}
	case errors.Is(err, context.DeadlineExceeded):
		return Finding{name, Broken, addr + ": " + err.Error(), "Look at the log of its process."}
	case err != nil:
		return Finding{
			name, Broken, addr + ": " + err.Error(),
			"Give its process a certificate of mesh.tls.ca that names " + meshtls.Identity(role).String() + ", or the same mesh.key.",
		}
	}
	return validity(name, addr+": ", shown, "Renew the certificate of its process.")
}

// validity reports when a certificate ends.
func validity(name, prefix string, c *x509.Certificate, todo string) Finding {
	now := time.Now()
	left, end := c.NotAfter.Sub(now), c.NotAfter.UTC().Format(time.RFC3339)
	f := Finding{Check: name, Outcome: OK, Detail: prefix + "valid until " + end}
	switch {
	case left <= 0:
		f = Finding{name, Broken, prefix + "it expired at " + end, todo}
	case now.Before(c.NotBefore):
		f = Finding{name, Broken, prefix + "it is not valid before " + c.NotBefore.UTC().Format(time.RFC3339), todo + " Check the clocks."}
	case left < min(soon, c.NotAfter.Sub(c.NotBefore)/5):
		f.Outcome, f.Todo = Warning, todo
		if left >= day {
			f.Detail += fmt.Sprintf(", in %d days", left/day)
		}
	}
	return f
}
