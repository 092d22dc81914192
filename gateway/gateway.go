// Package gateway is the HTTP side of the mesh: REST and Server-Sent Events over the gRPC services, health, metrics, the OpenAPI document
// and the pages for browsers. It stores no data.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/docs"
	"github.com/windlass-dev/windlass/gateway/bff"
	"github.com/windlass-dev/windlass/gateway/connect"
	"github.com/windlass-dev/windlass/gateway/console"
	"github.com/windlass-dev/windlass/gateway/ops"
	"github.com/windlass-dev/windlass/gateway/protected"
	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/gateway/site"
	"github.com/windlass-dev/windlass/gateway/sse"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/callertoken"
	"github.com/windlass-dev/windlass/libs/hostname"
	"github.com/windlass-dev/windlass/libs/meshtls"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/telemetry"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Conn is a connection to a role.
type Conn = grpc.ClientConnInterface

// MCP serves MCP clients. The context of a request holds the principal.
type MCP interface {
	http.Handler
	// Drain ends streams that would otherwise not end.
	Drain()
}

// Deps holds the gateway's dependencies.
type Deps struct {
	// Sessions, Registry, Policy, Inference and Knowledge are connections that forward the principal of the call's context. Required.
	Sessions, Registry, Policy, Inference, Knowledge Conn
	// Authenticator authenticates callers; nil refuses all.
	Authenticator *authn.Authenticator
	// MCP serves /mcp and what is below it; nil means not served.
	MCP MCP
	// Metrics serves /metrics; nil means not served. Scrape says who may read it besides users.
	Metrics http.Handler
	Scrape  telemetry.ScrapeConfig
	// ProviderData seals the credentials that come with requests; nil means that they are refused.
	ProviderData *providerdata.Sealer
	// Tokens seals the tokens of callers for the roles; nil means that they end here.
	Tokens *callertoken.Sealer
	// Log receives internal errors, and an access log at debug level. Required.
	Log *slog.Logger
	// Ready adds checks to /readyz besides the health of the upstreams. An error means not ready. It may be nil, and must not change while the
	// gateway serves.
	Ready map[string]func(context.Context) error
	// Health are connections to the roles, made as the gateway itself, whose processes' checks /readyz reports as well. It may be nil.
	Health map[string]Conn
	// Payloads decodes what Windlass stores in Temporal, for the Temporal UI; nil means not served.
	Payloads http.Handler
	// TemporalUI reaches the URL of Config.TemporalTarget. Required if that is set.
	TemporalUI http.RoundTripper
	// Authorizer decides who may use what is served here and not by a role. Required.
	Authorizer rpc.Authorizer
	// Requests counts requests towards quotas; nil does not.
	Requests *quota.Counter
	// Connections calls policy as the gateway itself, for the pages on which users connect sources; nil means that they are not served.
	Connections Conn
	// Login logs browsers in; nil means that they cannot.
	Login *bff.BFF
	// Kill ends the process as SIGKILL does, for people at the console who want to see turns survive that. Nil means that the console does
	// not offer it.
	Kill func()
}

// Gateway serves HTTP.
type Gateway struct {
	cfg       Config
	deps      Deps
	api       *rest.API
	streams   *sse.Streams
	console   *console.Console
	site      *site.Site
	connect   *connect.Pages // nil: not served
	checker   *probe.Checker
	ops       *ops.Ops
	seen      *observer
	resources *protected.Resources
	identity  *identity
	table     []route
	handler   http.Handler
	server    *http.Server
	// temporalUI serves Temporal's UI; nil: not served.
	temporalUI *http.Server
}

// New builds the gateway. It makes no calls and starts nothing.
func New(cfg Config, deps Deps) (*Gateway, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if deps.Log == nil || deps.Authorizer == nil {
		return nil, errors.New("gateway needs Log and Authorizer")
	}
	names, err := hostname.New(append(hostname.OfURL(cfg.URL), cfg.Hosts...)...)
	if err != nil {
		return nil, fmt.Errorf("gateway.hosts: %w", err)
	}
	g := &Gateway{cfg: cfg, deps: deps}
	g.checker = probe.NewChecker(deps.Log, g.checks)
	if err := g.build(); err != nil {
		return nil, fmt.Errorf("build gateway: %w", err)
	}
	g.table = g.routes()
	routes, err := compressed(g.api.IsStream, http.HandlerFunc(g.serveRoute))
	if err != nil {
		return nil, fmt.Errorf("build gateway: %w", err)
	}
	g.handler = g.seen.middleware(ops.Guard(names, "gateway.hosts", routes))
	g.server = newServer(g.handler, deps.Log)
	if g.temporalUI, err = g.newTemporalUI(names); err != nil {
		return nil, err
	}
	if cfg.Scheme() == "https" {
		files, err := meshtls.KeyPair(cfg.TLS.Cert, cfg.TLS.Key)
		if err != nil {
			return nil, fmt.Errorf("gateway.tls: %w", err)
		}
		g.server.TLSConfig = meshtls.Public(files)
		if g.temporalUI != nil {
			g.temporalUI.TLSConfig = meshtls.Public(files)
		}
	}
	return g, nil
}

func (g *Gateway) build() error {
	g.seen = newObserver(g.deps.Log)
	cross, err := crossOrigin(g.cfg.CORSOrigins)
	if err != nil {
		return err
	}
	g.resources, err = protected.New(protected.Config{
		URL: g.cfg.URL, Issuers: g.cfg.Issuers, Scopes: g.cfg.Scopes, MCP: g.deps.MCP != nil,
	})
	if err != nil {
		return err
	}
	g.identity = &identity{g.cfg, g.deps, cross, g.resources}
	g.ops = ops.New(ops.Deps{
		Authenticate: g.identity.ownPrincipal, Authorizer: g.deps.Authorizer, Results: g.health, Metrics: g.deps.Metrics, Scrape: g.deps.Scrape,
		Log: g.deps.Log,
	})
	g.api, err = rest.New(rest.Deps{
		Sessions: g.deps.Sessions, Registry: g.deps.Registry, Policy: g.deps.Policy, Inference: g.deps.Inference,
		Knowledge: g.deps.Knowledge, Log: g.deps.Log,
		MaxBody: int64(g.cfg.MaxBody), Timeout: g.cfg.Timeout, MaxTimeout: g.cfg.MaxTimeout, Matched: recordRoute,
	})
	if err != nil {
		return err
	}
	g.streams, err = sse.New(sse.Config{Heartbeat: g.cfg.Heartbeat, WriteTimeout: g.cfg.WriteTimeout}, sse.Deps{
		API: g.api, Sessions: g.deps.Sessions, Log: g.deps.Log, Open: g.seen.streamOpen,
	})
	if err != nil {
		return err
	}
	for pattern, handler := range g.eventStreams() {
		if err := g.api.HandleStream(pattern, handler); err != nil {
			return err
		}
	}
	if err := g.handleFiles(); err != nil {
		return err
	}
	if g.deps.Connections != nil {
		g.connect = connect.New(connect.Deps{
			URL: g.cfg.URL, Gateway: policyv1.NewConnectionServiceClient(g.deps.Connections),
			Users: policyv1.NewConnectionServiceClient(g.deps.Policy), Authenticate: g.identity.principal,
			Foreign: g.identity.refuseForeign, Log: g.deps.Log,
		})
	}
	if g.site, err = site.New(docs.Files, g.cfg.URL); err != nil {
		return err
	}
	g.console, err = console.New(console.Config{
		TemporalUI: g.cfg.TemporalUI, Namespace: g.cfg.TemporalNamespace, Kill: g.deps.Kill != nil, Login: g.deps.Login != nil,
		LinkHosts: g.cfg.LinkHosts,
	})
	return err
}

func newServer(h http.Handler, log *slog.Logger) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler: h, Protocols: &protocols, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ConnContext: peercred.ConnContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 10 * time.Second},
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelDebug), // client connection errors
	}
}

// Handler returns the gateway's handler, for tests or another server.
func (g *Gateway) Handler() http.Handler { return g.handler }

// Serve accepts requests on l until Stop, and then returns nil. With gateway.tls, it accepts TLS only.
func (g *Gateway) Serve(l net.Listener) error { return serveOn(g.server, l) }

func serveOn(s *http.Server, l net.Listener) error {
	serve := s.Serve
	if s.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.ServeTLS(l, "", "") }
	}
	if err := serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP on %s: %w", l.Addr(), err)
	}
	return nil
}

// Stop stops accepting requests, ends event streams so that their readers reconnect, and waits for calls in progress until ctx ends; then
// it closes the remaining connections.
func (g *Gateway) Stop(ctx context.Context) error {
	g.streams.Drain()
	if g.deps.MCP != nil {
		g.deps.MCP.Drain()
	}
	if g.deps.Login != nil {
		defer g.deps.Login.Close()
	}
	if err := g.server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("stop HTTP server: %w", err), g.server.Close())
	}
	return nil
}
