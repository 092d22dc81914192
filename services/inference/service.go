// Package inference calls models: one streaming call over the configured and detected providers.
package inference

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/providerdata"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Deps holds the service's dependencies; all fields are required.
type Deps struct {
	// Egress dials the providers.
	Egress *egress.Egress
	// ProviderData opens the credentials of requests; nil, which is allowed, refuses them.
	ProviderData *providerdata.Sealer
	// Vault has stored secrets; nil, which is allowed, refuses references to them.
	Vault envref.Vault
	// Log receives the detected providers at start, and internal errors.
	Log *slog.Logger
	// Getenv reads the environment, as os.Getenv does.
	Getenv func(string) string
}

// Service implements InferenceService. It is safe for concurrent use.
type Service struct {
	inferencev1.UnimplementedInferenceServiceServer

	cfg     Config
	catalog *catalog
	sealer  *providerdata.Sealer
	vault   envref.Vault
	meter   *meter
	log     *slog.Logger
}

// New validates configuration and dependencies and detects providers; ctx bounds the detection.
func New(ctx context.Context, cfg Config, deps Deps) (*Service, error) {
	if deps.Egress == nil || deps.Log == nil || deps.Getenv == nil {
		return nil, errors.New("inference needs Egress, Log and Getenv")
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	found, err := detect(ctx, cfg, deps)
	if err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	s := &Service{cfg: cfg, sealer: deps.ProviderData, vault: deps.Vault, log: deps.Log}
	if s.catalog, err = newCatalog(cfg, found, deps); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	if s.meter, err = newMeter(); err != nil {
		return nil, fmt.Errorf("inference: %w", err)
	}
	deps.Log.InfoContext(ctx, "models ready", "default_model", s.catalog.byDefault, "providers", s.catalog.names())
	return s, nil
}

// Register adds the service to a server.
func (s *Service) Register(r grpc.ServiceRegistrar) { inferencev1.RegisterInferenceServiceServer(r, s) }

// ResolveModel implements InferenceService.
func (s *Service) ResolveModel(_ context.Context, req *inferencev1.ResolveModelRequest) (*inferencev1.Model, error) {
	m, err := s.catalog.resolve(req.GetModel(), codes.NotFound)
	if err != nil {
		return nil, err
	}
	return s.modelToProto(m), nil
}

// modelCursor is the last model of a page.
type modelCursor struct{ Name string }

// ListModels implements InferenceService.
func (s *Service) ListModels(ctx context.Context, req *inferencev1.ListModelsRequest) (*inferencev1.ListModelsResponse, error) {
	var after modelCursor
	size, err := page.Request("models", req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	resp := &inferencev1.ListModelsResponse{}
	for _, m := range s.catalog.list(ctx) {
		if after.Name != "" && (m.isDefault || m.full() <= after.Name) && !(after.Name == s.catalog.byDefault && !m.isDefault) {
			continue
		}
		if len(resp.GetModels()) == size {
			resp.NextPageToken = page.Encode("models", modelCursor{resp.GetModels()[size-1].GetName()})
			break
		}
		resp.Models = append(resp.Models, s.modelToProto(m))
	}
	return resp, nil
}
