// Package egress is the only way out of Windlass: every outbound connection is dialled here, where the address that a name resolved to is
// checked at the moment of dialling, so that no name, redirect or rebinding leads where it should not.
package egress

import (
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

// Profiles say which addresses may be dialled. Link-local and cloud metadata addresses never may.
const (
	// Local allows loopback and private addresses too: one person's machine.
	Local = "local"
	// Public allows public addresses, and what is in Allow and AllowHosts.
	Public = "public"
	// Cluster allows only what is in Allow and AllowHosts.
	Cluster = "cluster"
)

// Config says where connections may go.
type Config struct {
	// Profile is Local, Public or Cluster. Required.
	Profile string
	// Allow lists address ranges that are allowed in addition.
	Allow []netip.Prefix
	// AllowHosts lists host names that are allowed whatever they resolve to, metadata addresses apart. ".example.com" means all names below it.
	AllowHosts []string
	// CAs are trusted for TLS instead of the system's. Nil means the system's.
	CAs *x509.CertPool
	// ConnectTimeout bounds dialling, name resolution included, and separately the TLS handshake. 0 means 10 s.
	ConnectTimeout time.Duration
	// Resolver finds addresses. Nil means the system's.
	Resolver *net.Resolver
}

// Egress dials. It is safe for concurrent use; all its clients share one pool of connections.
type Egress struct {
	guard     *guard
	open      net.Dialer // for allowed host names
	checked   net.Dialer // for all others
	transport *http.Transport
}

// Options shape one client.
type Options struct {
	// Timeout bounds a whole call, reading the body included. 0 means none: use it for streams, and end those by context.
	Timeout time.Duration
	// MaxResponseBytes bounds a response's body after decompression; a reader that gets further sees a *TooLargeError. 0 means none.
	MaxResponseBytes int64
}

// New checks the configuration.
func New(cfg Config) (*Egress, error) {
	g, err := newGuard(cfg)
	if err != nil {
		return nil, fmt.Errorf("build egress: %w", err)
	}
	timeout := cfg.ConnectTimeout
	if timeout <= 0 {
		timeout = 10 * time.Second
	}
	dialer := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Resolver: cfg.Resolver}
	e := &Egress{guard: g, open: dialer, checked: dialer}
	e.open.ControlContext = g.checkMetadata
	e.checked.ControlContext = g.check
	e.transport = &http.Transport{
		Proxy:                 nil, // a proxy from the environment would dial in our place
		DialContext:           e.dialCounted,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cfg.CAs},
		TLSHandshakeTimeout:   timeout,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		// Others' headers carry an id or two: the default of 10 MiB is two hundred thousand entries of a map.
		MaxResponseHeaderBytes: 256 << 10,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
	}
	return e, nil
}

// DialContext dials a TCP address, for protocols other than HTTP. A forbidden address is a *DeniedError.
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

// Client returns an HTTP client that dials through e, follows no redirect (*RedirectError), uses no ambient proxy, cookie or credential, and
// makes a span for each call, whose trace context it sends along. A request that may change something is never sent twice, whatever headers it
// carries; an error for which NotSent holds says that it was not sent at all. Clients are cheap.
func (e *Egress) Client(opts Options) *http.Client {
	limited := &limitTransport{next: singleTransport{e.transport}, limit: opts.MaxResponseBytes}
	return &http.Client{
		Transport: traced(limited),
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			return &RedirectError{From: bare(via[len(via)-1].URL), To: bare(to.URL)}
		},
		Timeout: opts.Timeout,
	}
}

// CloseIdle closes the connections nobody uses now.
func (e *Egress) CloseIdle() { e.transport.CloseIdleConnections() }

type hostKey struct{}

// withHost remembers the name that is being dialled, for the error message of the address check.
func withHost(ctx context.Context, host string) context.Context {
	return context.WithValue(ctx, hostKey{}, strings.ToLower(host))
}

func hostOf(ctx context.Context) string {
	host, _ := ctx.Value(hostKey{}).(string)
	return host
}
