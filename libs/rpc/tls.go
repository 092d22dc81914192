package rpc

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/peer"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/meshtls"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// ServerTLS is how a server knows the processes that call it. Users call with a bearer token, with or without a certificate.
type ServerTLS struct {
	// Source has the server's certificate, and the authorities of the clients'.
	Source meshtls.Source
	// Callers maps each service that roles may call to these roles. A role calls no other service.
	Callers map[string][]string
	// Accept also takes connections in clear text, and mesh tokens without a certificate: for upgrades, and networks that encrypt by
	// themselves. Otherwise only users on this machine may call in clear text.
	Accept bool
}

// transport returns the credentials of a server.
func (s *ServerTLS) transport() credentials.TransportCredentials {
	if s == nil {
		return insecure.NewCredentials()
	}
	return &serverTransport{TransportCredentials: credentials.NewTLS(meshtls.AskingServer(s.Source)), tls: s}
}

const (
	// maxAge is how long a connection of a role is used before another one, with the certificates of then, takes its place, at most.
	maxAge = time.Hour
	// maxGrace is how long calls of the former connection may go on, at most.
	maxGrace = 2 * time.Hour
	// lives is how many ages, and as many times of grace, are in the life of a certificate. Both together are less than the third of it that
	// is left where certificates are renewed after two thirds, as cert-manager does.
	lives = 8
)

// age returns how long connections are used, and how much longer their calls may go on, so that no connection is left when the certificate
// expires with which it began. Without TLS connections do not age.
func (s *ServerTLS) age() (age, grace time.Duration, err error) {
	if s == nil {
		return 0, 0, nil
	}
	cert, err := s.Source.Certificate()
	if err != nil {
		return 0, 0, err
	}
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		return 0, 0, fmt.Errorf("read the certificate of this process: %w", err)
	}
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	return min(maxAge, life/lives), min(maxGrace, life/lives), nil
}

// serverTransport accepts TLS, and clear text where ServerTLS says so. The first byte shows which one a client speaks.
type serverTransport struct {
	credentials.TransportCredentials
	tls *ServerTLS
}

// handshakeRecord is the first byte of a TLS connection; HTTP/2 in clear text begins with a letter.
const handshakeRecord = 0x16

var errClear = errors.New("the client does not use TLS, which is needed here")

// certified is the AuthInfo of a connection over TLS.
type certified struct {
	credentials.TLSInfo
	roles []string
	err   error // what is wrong with the certificate
	// until is when the client's certificate expires; zero without one.
	until time.Time
}

// ServerHandshake implements credentials.TransportCredentials. gRPC bounds its time.
func (t *serverTransport) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	var first [1]byte
	if _, err := conn.Read(first[:]); err != nil {
		return nil, nil, err // gRPC treats an ended connection by its kind
	}
	conn = &peeked{Conn: conn, first: first[:]}
	if first[0] != handshakeRecord {
		remote, ok := conn.RemoteAddr().(*net.TCPAddr)
		if !t.tls.Accept && (!ok || !remote.IP.IsLoopback()) {
			return nil, nil, errClear
		}
		return insecure.NewCredentials().ServerHandshake(conn)
	}
	secured, info, err := t.TransportCredentials.ServerHandshake(conn)
	if err != nil {
		return nil, nil, err
	}
	tlsInfo, ok := info.(credentials.TLSInfo)
	if !ok {
		return nil, nil, errors.New("the connection has no TLS state")
	}
	out := certified{TLSInfo: tlsInfo}
	out.roles, out.err = meshtls.VerifyClient(t.tls.Source, tlsInfo.State)
	if certs := tlsInfo.State.PeerCertificates; len(certs) > 0 {
		out.until = certs[0].NotAfter
	}
	return secured, out, nil
}

// Clone implements credentials.TransportCredentials.
func (t *serverTransport) Clone() credentials.TransportCredentials {
	return &serverTransport{t.TransportCredentials.Clone(), t.tls}
}

// peeked is a connection whose first byte has been read.
type peeked struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.first) > 0 && len(b) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// checkCertificate refuses a connection whose certificate is not valid, whatever the call carries.
func (s *Server) checkCertificate(ctx context.Context) error {
	c, ok := certificate(ctx)
	if ok && c.err == nil && !c.until.IsZero() && time.Now().After(c.until) {
		c.err = fmt.Errorf("it has expired at %v, on an open connection", c.until)
	}
	if !ok || c.err == nil || errors.Is(c.err, meshtls.ErrNoCertificate) {
		return nil
	}
	return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "the certificate of the connection is not valid").
		Hint("Processes of a mesh need certificates of one authority: share one mesh.key, or check mesh.tls and the clocks.").Cause(c.err)
}

// checkRole refuses a mesh token of a process that has no certificate, or whose certificate does not allow the call.
func (s *Server) checkRole(ctx context.Context, p *policyv1.Principal, method string) error {
	if s.cfg.TLS == nil || withinProcess(ctx) {
		return nil
	}
	c, ok := certificate(ctx)
	if !ok || c.err != nil {
		if s.cfg.TLS.Accept {
			return nil
		}
		return fault.New(codes.Unauthenticated, faultv1.Reason_REASON_UNAUTHENTICATED, "a mesh token needs a client certificate").
			Hint("Set mesh.tls.mode to the same value in all processes; during an upgrade, to accept.")
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	allowed := s.cfg.TLS.Callers[service]
	if !slices.ContainsFunc(c.roles, func(role string) bool { return slices.Contains(allowed, role) }) {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "the role %s may not call %s",
			strings.Join(c.roles, ", "), service)
	}
	if p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE && !slices.Contains(c.roles, p.GetSubject()) {
		return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED,
			"the certificate of the connection is not that of the role %s", p.GetSubject())
	}
	return nil
}

// certificate returns what a call's connection says about the calling process; false without TLS.
func certificate(ctx context.Context) (certified, bool) {
	info, ok := gate(ctx)
	if !ok {
		return certified{}, false
	}
	c, ok := info.AuthInfo.(certified)
	return c, ok
}

// withinProcess reports whether a call came over a Memory.
func withinProcess(ctx context.Context) bool {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return false
	}
	_, ok = p.Addr.(memoryAddr)
	return ok
}

// clientTransport returns the credentials of a connection to a role.
func clientTransport(source meshtls.Source, role string) (credentials.TransportCredentials, error) {
	if source == nil {
		return insecure.NewCredentials(), nil
	}
	cfg, err := meshtls.ClientOf(source, role)
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(cfg), nil
}
