// Package egress makes all outbound connections of Windlass. It checks addresses when it dials, after name resolution, so that no name,
// redirect or DNS rebinding reaches a forbidden address.
package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Profiles define which addresses may be dialled. Link-local and cloud metadata addresses are always forbidden.
const (
	// Local also allows loopback and private addresses: for a single user's machine.
	Local = "local"
	// Public allows public addresses, and those in Allow and AllowHosts.
	Public = "public"
	// Cluster allows only what is in Allow and AllowHosts.
	Cluster = "cluster"
)

// Config defines where connections may go.
type Config struct {
	// Profile is Local, Public or Cluster. Required.
	Profile string
	// Allow lists additional address ranges.
	Allow []netip.Prefix
	// AllowHosts lists host names that are allowed whatever they resolve to, except metadata addresses. ".example.com" matches all subdomains.
	AllowHosts []string
	// AllowAddrs lists addresses with ports, of servers of this process, that are allowed whatever the profile says.
	AllowAddrs []netip.AddrPort
	// CAs replace the system's trusted CAs for TLS. Nil means the system's.
	CAs *x509.CertPool
	// ConnectTimeout bounds dialling, including name resolution, and separately the TLS handshake. 0 means 10 s.
	ConnectTimeout time.Duration
	// Resolver resolves names. Nil means the system's resolver.
	Resolver *net.Resolver
}

// Egress dials outbound connections. It is safe for concurrent use; all its clients share one connection pool.
type Egress struct {
	guard     *guard
	open      net.Dialer // for allowed host names
	checked   net.Dialer // for all others
	transport *http.Transport
	grpc      grpcPool
	public    *Egress // nil if there are no private addresses to refuse

	connectTimeout time.Duration
}

// Options configure one client.
type Options struct {
	// Timeout bounds a whole call, including reading the body. 0 means none: use it for streams, and end those by context.
	Timeout time.Duration
	// MaxResponseBytes limits a response body after decompression; reading further returns a *TooLargeError. 0 means no limit.
	MaxResponseBytes int64
	// Once means that no request of the client may be sent twice, not even a GET.
	Once bool
}

// New returns an Egress, or an error if the configuration is invalid.
func New(cfg Config) (*Egress, error) {
	g, err := newGuard(cfg)
	if err != nil {
		return nil, fmt.Errorf("build egress: %w", err)
	}
	e := build(cfg, g)
	if g.profile == Local {
		public := *g
		public.profile = Public
		e.public = build(cfg, &public)
	}
	return e, nil
}

// build returns an Egress with connections of its own: those that a wider one has open must not be used under a narrower one.
func build(cfg Config, g *guard) *Egress {
	timeout := cfg.ConnectTimeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	dialer := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Resolver: cfg.Resolver}
	e := &Egress{guard: g, open: dialer, checked: dialer, connectTimeout: timeout}
	e.open.ControlContext = g.checkMetadata
	e.checked.ControlContext = g.check
	e.transport = &http.Transport{
		Proxy:                 nil, // a proxy from the environment would bypass the check
		DialContext:           e.dialCounted,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.CAs},
		TLSHandshakeTimeout:   timeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Responses need few headers; the default of 10 MiB would allow a map of two hundred thousand entries.
		MaxResponseHeaderBytes: 256 << 10,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
	return e
}

// Public returns what dials for addresses that users choose: it refuses what e refuses and, under the profile Local, what Public does.
func (e *Egress) Public() *Egress { return cmp.Or(e.public, e) }

// DialContext dials a TCP address, for protocols other than HTTP. It returns a *DeniedError for a forbidden address.
func (e *Egress) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dialer := &e.checked
	if e.guard.hostAllowed(host) {
		dialer = &e.open
	}
	conn, err := dialer.DialContext(withHost(ctx, host), network, address)
	if err != nil {
		return nil, unwrapDenied(err)
	}
	return conn, nil
}

// Client returns an HTTP client that dials through e, follows no redirects (*RedirectError), uses no ambient proxy, cookie or credential,
// and traces each call and propagates the trace context. It never sends a request with side effects twice, whatever its headers; NotSent
// reports whether a failed request was certainly not sent. Clients are cheap.
func (e *Egress) Client(opts Options) *http.Client {
	limited := &limitTransport{next: singleTransport{next: e.transport, once: opts.Once}, limit: opts.MaxResponseBytes}
	return &http.Client{
		Transport: traced(limited),
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			return &RedirectError{From: bare(via[len(via)-1].URL), To: bare(to.URL)}
		},
		Timeout: opts.Timeout,
	}
}

// CloseIdle closes idle connections.
func (e *Egress) CloseIdle() {
	e.transport.CloseIdleConnections()
	e.grpc.mu.Lock()
	unused := e.grpc.unused()
	e.grpc.mu.Unlock()
	closeAll(unused)
	if e.public != nil {
		e.public.CloseIdle()
	}
}

type hostKey struct{}

// withHost stores the name being dialled, for the error message of the address check.
func withHost(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, hostKey{}, strings.ToLower(host))
}

func hostOf(ctx context.Context) string {
	host, _ := ctx.Value(hostKey{}).(string)
	return host
}
