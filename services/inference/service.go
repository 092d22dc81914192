// Package inference calls models: one streaming call over the configured and detected providers.
package inference

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/probe"
	"github.com/windlass-dev/windlass/services/inference/api"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
)

// Deps holds the service's dependencies.
type Deps = catalog.Deps

// Service serves windlass.inference.v1. It is safe for concurrent use.
type Service struct {
	catalog *catalog.Catalog
	calls   *modelcall.Caller
}

// New validates configuration and dependencies and detects providers; ctx bounds the detection.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	if deps.Egress == nil || deps.Log == nil || deps.Getenv == nil {
		return nil, errors.New("inference needs Egress, Log and Getenv")
	}
	if err := errors.Join(cfg.Limits.Check(), cfg.Config.Check()); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	models, err := catalog.New(ctx, cfg.Config, int64(cfg.MaxResponse), deps)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	calls, err := modelcall.New(cfg.Limits, models)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	deps.Log.InfoContext(ctx, "models ready", "default_model", models.DefaultModel(), "providers", models.Names())
	return &Service{catalog: models, calls: calls}, nil
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { api.Register(r, s.catalog, s.calls) }

// Checks returns a check of each provider that is called over the network: "model openai". A provider passes if it answers the list of its
// models or the last call, whatever the answer, except that it refuses the key.
func (s *Service) Checks() map[string]probe.Check { return s.catalog.Checks() }
