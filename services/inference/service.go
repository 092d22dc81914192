// Package inference calls models: one streaming call over the configured and detected providers.
package inference

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/bus"
	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/inference/api"
	"github.com/windlass-dev/windlass/services/inference/attempt"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/health"
	"github.com/windlass-dev/windlass/services/inference/health/share"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/route"
	"github.com/windlass-dev/windlass/services/inference/store"
)

// Deps holds the service's dependencies.
type Deps struct {
	catalog.Deps
	// Authorizer decides whether principals may use models; nil allows all.
	Authorizer route.Authorizer
	// DB is the service's own database, which has the routes that tenants create; New migrates it. nil = there are only those of the
	// configuration.
	DB *sqldb.DB
	// Bus shares the health of models and keys with other replicas; nil keeps it in this process.
	Bus *bus.Bus
}

// Service serves windlass.inference.v1. It is safe for concurrent use.
type Service struct {
	deps  api.Deps
	share *share.Share // nil without a bus
}

// New validates configuration and dependencies and detects providers; ctx bounds the detection.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	if deps.Egress == nil || deps.Log == nil || deps.Getenv == nil {
		return nil, errors.New("inference needs Egress, Log and Getenv")
	}
	if err := errors.Join(cfg.Limits.Check(), cfg.Config.Check()); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	models, err := catalog.New(ctx, cfg.Config, int64(cfg.MaxResponse), deps.Deps)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	calls, err := modelcall.New(cfg.Limits, models)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	s := &Service{}
	var shared health.Share
	if deps.Bus != nil {
		s.share = share.New(deps.Bus, deps.Log)
		shared = s.share
	}
	table := health.New(time.Now, shared)
	policy := route.Policy{Authorizer: deps.Authorizer}
	s.deps = api.Deps{
		Models: models, Calls: calls, Attempts: attempt.New(calls, models, policy, table), Health: table, Policy: policy,
		MaxRoutes: cfg.MaxRoutes,
	}
	if err := s.makeRoutes(ctx, cfg.Routes, deps); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	deps.Log.InfoContext(ctx, "models ready", "default_model", models.DefaultModel(), "providers", models.Names())
	return s, nil
}

// makeRoutes makes what chooses models, and migrates the database if there is one.
func (s *Service) makeRoutes(ctx context.Context, configured []route.Config, deps Deps) (err error) {
	with := route.Deps{Models: s.deps.Models, Policy: s.deps.Policy, Log: deps.Log}
	if deps.DB != nil {
		if err := store.Migrate(ctx, deps.DB); err != nil {
			return err
		}
		s.deps.Stored, s.deps.Now = store.New(deps.DB), deps.DB.Now
		with.Stored = s.deps.Stored
	}
	s.deps.Routes, err = route.NewResolver(configured, with)
	return err
}

// Run shares the health of models and keys with other replicas until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	if s.share == nil {
		return nil
	}
	return s.share.Run(ctx, s.deps.Health)
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { api.Register(r, s.deps) }

// Checks returns a check of each provider that is called over the network: "model openai". A provider passes if it answers the list of its
// models or the last call, whatever the answer, except that it refuses the key.
func (s *Service) Checks() map[string]probe.Check { return s.deps.Models.Checks() }
