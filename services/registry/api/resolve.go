package api

import (
	"context"
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/authn"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// ResolveTools implements ToolExecutionService.
func (s *ToolExecutions) ResolveTools(ctx context.Context, req *registryv1.ResolveToolsRequest) (*registryv1.ResolveToolsResponse, error) {
	tenant := req.GetPrincipal().GetTenant()
	listed, err := s.catalog.listed(ctx, tenant, req.GetGlobs())
	if err != nil {
		return nil, err
	}
	fitting, err := s.catalog.fitting(ctx, tenant, listed.may)
	if err != nil {
		return nil, err
	}
	resp, byName := &registryv1.ResolveToolsResponse{}, listed.byName()
	if len(req.GetOthers()) > 0 {
		if resp.Others, err = s.catalog.allowed(ctx, req.GetPrincipal(), req.GetOthers()); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(fitting, namesAtOnce) {
		names, err := s.catalog.allowed(ctx, req.GetPrincipal(), part)
		if err != nil {
			return nil, err
		}
		found, err := s.store.Tools(ctx, tenant, names)
		if err != nil {
			return nil, fmt.Errorf("read tools: %w", err)
		}
		for _, t := range found {
			if t.DriftedHash == "" && (byName || listed.has(t)) {
				resp.Tools = append(resp.Tools, toolToProto(t))
			}
		}
	}
	return resp, nil
}

// GetDefinitions implements ToolExecutionService.
func (s *ToolExecutions) GetDefinitions(ctx context.Context, req *registryv1.GetDefinitionsRequest) (*registryv1.GetDefinitionsResponse,
	error,
) {
	found, err := s.store.Definitions(ctx, authn.Tenant(ctx), req.GetHashes())
	if err != nil {
		return nil, fmt.Errorf("read definitions: %w", err)
	}
	byHash := make(map[string]store.Definition, len(found))
	names := make([]string, 0, len(found))
	for _, d := range found {
		byHash[d.Hash] = d
		names = append(names, d.Name)
	}
	slices.Sort(names)
	// The present tool has the effect class set by its source's owner, and its availability.
	present, err := s.store.Tools(ctx, authn.Tenant(ctx), slices.Compact(names))
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	byName := make(map[string]store.Tool, len(present))
	for _, t := range present {
		byName[t.Name] = t
	}
	resp := &registryv1.GetDefinitionsResponse{}
	for _, hash := range req.GetHashes() {
		d, ok := byHash[hash]
		if !ok {
			continue
		}
		t, ok := byName[d.Name]
		p := definitionToProto(d, t.Source.Effect(d))
		p.Available = ok && available(t)
		resp.Tools = append(resp.Tools, p)
	}
	return resp, nil
}
