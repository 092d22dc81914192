package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"
)

// server is a running Temporal server.
type server struct {
	temporal.Server
	address string // of the frontend
}

// startServer returns when all services have started, shortly before they answer.
func (p *program) startServer(opts options, db *database, trusted *certificates, log *slog.Logger) (*server, error) {
	picked, err := p.reserve(opts.host, opts.port)
	if err != nil {
		return nil, err
	}
	srv, err := temporal.NewServer(
		temporal.WithConfig(serverConfig(opts.host, picked, db.sql)),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(opts.host, picked)),
		temporal.WithDynamicConfigClient(tuning(opts.dynamicConfig)),
		temporal.WithCustomDataStoreFactory(&stores{sql: db.sql}),
		// Who has a certificate may do everything, like who can read the file that this server serves.
		temporal.WithTLSConfigFactory(trusted.provider()),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithLogger(&serverLogger{log: log, fatal: func(message string, details map[string]any) {
			p.fatal(opts, message, details)
		}}),
	)
	if err == nil {
		err = srv.Start()
	}
	if err != nil {
		if strings.Contains(err.Error(), "address already in use") {
			p.retryStart(opts, "an internal port")
		}
		return nil, fmt.Errorf("start the Temporal server: %w", err)
	}
	return &server{Server: srv, address: dialable(opts.host, picked.frontend)}, nil
}

// stop takes about a second, while the frontend waits for its clients' long polls.
func (s *server) stop(log *slog.Logger, level *slog.LevelVar) {
	// The parts warn about each other's stop. Keep those warnings if the level is lower than warn.
	if level.Level() == slog.LevelWarn {
		level.Set(slog.LevelError)
	}
	if err := s.Server.Stop(); err != nil {
		log.ErrorContext(context.Background(), "temporal server stopped with an error", "error", err)
	}
}
