package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/page"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/route"
)

// ResolveChain implements InferenceService.
func (s *server) ResolveChain(ctx context.Context, req *inferencev1.ResolveChainRequest) (*inferencev1.Chain, error) {
	c, err := s.Routes.Resolve(ctx, route.Turn{
		Agent: req.GetAgentId(), Model: req.GetModel(), Fallbacks: req.GetFallbacks(), Principal: req.GetPrincipal(),
		Session: req.GetSessionId(), Modalities: req.GetModalities(), Size: req.GetSize(), Chosen: req.GetChosen(),
	})
	if err != nil {
		return nil, err
	}
	out := &inferencev1.Chain{
		Route: c.Route, Revision: s.Routes.Table().Revision(), SwitchOnFilter: c.SwitchOnFilter, NeedsModalities: c.NeedsModalities,
	}
	for _, t := range c.Targets {
		out.Targets = append(out.Targets, &inferencev1.ChainTarget{Model: s.modelToProto(t.Model), Reason: t.Reason})
	}
	for _, p := range c.Skipped {
		out.Skipped = append(out.Skipped, &inferencev1.SkippedTarget{Model: p.Model, Reason: p.Reason})
	}
	return out, nil
}

// routeCursor is the number of routes on the pages so far.
type routeCursor struct{ N int }

// ListRoutes implements InferenceService.
func (s *server) ListRoutes(_ context.Context, req *inferencev1.ListRoutesRequest) (*inferencev1.ListRoutesResponse, error) {
	var after routeCursor
	size, err := page.Request("routes", req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	routes := s.Routes.Table().Routes()
	out := &inferencev1.ListRoutesResponse{Revision: s.Routes.Table().Revision()}
	end := min(max(after.N, 0)+size, len(routes))
	for _, r := range routes[min(max(after.N, 0), end):end] {
		out.Routes = append(out.Routes, routeToProto(r))
	}
	if end < len(routes) {
		out.NextPageToken = page.Encode("routes", routeCursor{end})
	}
	return out, nil
}

func routeToProto(r route.Config) *inferencev1.Route {
	out := &inferencev1.Route{Name: r.Name, When: r.When, SwitchOnFilter: r.SwitchOnFilter}
	for _, t := range r.Targets {
		out.Targets = append(out.Targets, &inferencev1.RouteTarget{Model: t.Model, Weight: int32(t.Weight)})
	}
	return out
}
