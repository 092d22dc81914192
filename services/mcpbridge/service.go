// Package mcpbridge is the MCP client of the mesh: it keeps connections to tool servers over streamable HTTP, SSE and stdio, in both eras
// of the protocol, lists their tools byte for byte, and runs calls so that the caller always knows whether a call may be repeated. It
// stores nothing: each request contains the server's whole entry.
package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/process"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/services/mcpbridge/api"
	"github.com/windlass-dev/windlass/services/mcpbridge/call"
	"github.com/windlass-dev/windlass/services/mcpbridge/pool"
	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/watch"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Deps holds the bridge's dependencies; Egress and Log are required.
type Deps struct {
	// Egress dials HTTP servers.
	Egress *egress.Egress
	// ProviderData opens the credentials of requests; nil, which is allowed, refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil, which is allowed, refuses references to them.
	Vault envref.Vault
	// Log receives connections and losses, and at debug level the stderr of tool servers.
	Log *slog.Logger
}

// Service serves windlass.mcpbridge.v1. The caller must call Close.
type Service struct {
	cfg     Config
	servers *server.Resolver
	hub     *watch.Hub
	pool    *pool.Pool
}

// New returns a bridge without connections.
func New(cfg Config, deps Deps) (*Service, error) {
	if deps.Egress == nil || deps.Log == nil {
		return nil, errors.New("mcpbridge needs Egress and Log")
	}
	config.Fill(&cfg)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	programs, err := process.NewPrograms(cfg.Programs, cfg.CommandPath)
	if err != nil {
		return nil, fmt.Errorf("mcpbridge: programs: %w", err)
	}
	env := envref.Config{Allow: cfg.EnvAllow, Owner: "bridge", Setting: "mcpbridge.env_allow", Vault: deps.Vault}
	keeper := credential.New(credential.Config{Env: env, Timeout: cfg.ConnectTimeout}, deps.Egress)
	s := &Service{cfg: cfg, hub: watch.NewHub()}
	s.servers = &server.Resolver{
		Env: env, Programs: programs, Credentials: keeper, Sealer: deps.ProviderData,
		ConnectTimeout: cfg.ConnectTimeout, CallTimeout: cfg.CallTimeout,
	}
	s.pool = pool.New(pool.Config{
		IdleTimeout: cfg.IdleTimeout, MaxCalls: cfg.MaxCalls, QueueTimeout: cfg.QueueTimeout, Probe: cfg.DiscoverTimeout,
		Reconnects: cfg.reconnects(),
	}, pool.Deps{
		Dialer: wire.Dialer{Egress: deps.Egress, Programs: programs, Limits: cfg.Limits, Log: deps.Log},
		Hub:    s.hub, Forget: keeper.Forget, Log: deps.Log,
	})
	return s, nil
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	api.Register(r, api.Deps{
		Servers: s.servers, Runner: call.New(s.pool), Hub: s.hub, Release: s.pool.Release, MaxResultBytes: s.cfg.MaxResultBytes,
	})
}

// Run closes unused connections until ctx ends, and then closes the bridge. It always returns nil.
func (s *Service) Run(ctx context.Context) error {
	s.pool.Run(ctx)
	s.Close()
	return nil
}

// Close ends all connections and processes, including calls, and waits until they are gone. It may be called more than once.
func (s *Service) Close() { s.pool.Close() }
