package api

import (
	"context"
	"errors"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/page"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/inference/route"
	"github.com/windlass-dev/windlass/services/inference/store"
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
		Route: c.Route, Revision: c.Revision, SwitchOnFilter: c.SwitchOnFilter, NeedsModalities: c.NeedsModalities,
		RouteOrigin: originToProto(c.Origin),
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
func (s *server) ListRoutes(ctx context.Context, req *inferencev1.ListRoutesRequest) (*inferencev1.ListRoutesResponse, error) {
	var after routeCursor
	size, err := page.Request("routes", req.GetPageSize(), req.GetPageToken(), 100, &after)
	if err != nil {
		return nil, err
	}
	table, err := s.Routes.Table(ctx, authn.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	routes, err := s.Routes.List(ctx, authn.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	out := &inferencev1.ListRoutesResponse{Revision: table.Revision()}
	start := min(max(after.N, 0), len(routes))
	end := min(start+size, len(routes))
	for _, r := range routes[start:end] {
		out.Routes = append(out.Routes, routeToProto(r))
	}
	if end < len(routes) {
		out.NextPageToken = page.Encode("routes", routeCursor{end})
	}
	return out, nil
}

// GetRoute implements InferenceService.
func (s *server) GetRoute(ctx context.Context, req *inferencev1.GetRouteRequest) (*inferencev1.Route, error) {
	routes, err := s.Routes.List(ctx, authn.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	var found *inferencev1.Route
	for _, r := range routes {
		if r.Name == req.GetName() && (found == nil || r.Stored != nil) { // the configuration may have got one of this name later
			found = routeToProto(r)
		}
	}
	if found == nil {
		return nil, noRoute(req.GetName())
	}
	return found, nil
}

// errChecked ends the transaction of a change that is only checked.
var errChecked = errors.New("only checked")

// CreateRoute implements InferenceService.
func (s *server) CreateRoute(ctx context.Context, req *inferencev1.CreateRouteRequest) (*inferencev1.Route, error) {
	want := req.GetRoute()
	if want.GetName() == "" {
		return nil, fault.Invalid("route.name", "a name is required")
	}
	if _, taken := s.Routes.Configured(want.GetName()); taken {
		return nil, fault.AlreadyExists("the configuration has a route named %q", want.GetName()).Hint("Choose another name.")
	}
	if s.Stored == nil {
		return nil, notStored()
	}
	made := store.Route{Name: want.GetName(), Spec: specOf(want), CreateTime: s.Now()}
	made.UpdateTime = made.CreateTime
	if err := s.checkRoute(made); err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetValidateOnly(), func(now store.Snapshot) (store.Change, error) {
		switch {
		case indexOf(now, made.Name) >= 0:
			return store.Change{}, fault.AlreadyExists("there is a route named %q", made.Name).
				Hint("Choose another name, or update the one that exists.")
		case len(now.Routes) >= s.MaxRoutes:
			return store.Change{}, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION,
				"there are %d routes, and no more are possible", len(now.Routes)).
				Hint("Delete routes that are not needed, or combine several with conditions.")
		}
		return store.Change{Put: &made}, nil
	})
}

var routeFields = fieldmask.Resource{Name: "route", Mutable: []string{
	"when", "targets", "switch_on_filter", "description", "priority", "disabled",
}}

// UpdateRoute implements InferenceService.
func (s *server) UpdateRoute(ctx context.Context, req *inferencev1.UpdateRouteRequest) (*inferencev1.Route, error) {
	want := req.GetRoute()
	if want.GetName() == "" {
		return nil, fault.Invalid("route.name", "a name is required")
	}
	return s.change(ctx, req.GetValidateOnly(), func(now store.Snapshot) (store.Change, error) {
		i := indexOf(now, want.GetName())
		if i < 0 {
			return store.Change{}, s.notChangeable(want.GetName())
		}
		r := now.Routes[i]
		if n := want.GetRevision(); n != 0 && n != r.Revision {
			return store.Change{}, fault.Conflict("route %q is at revision %d, not %d", r.Name, r.Revision, n)
		}
		next := storedToProto(r)
		if err := routeFields.Apply(next, want, req.GetUpdateMask().GetPaths()); err != nil {
			return store.Change{}, err
		}
		r.Spec, r.UpdateTime = specOf(next), s.Now()
		return store.Change{Put: &r}, s.checkRoute(r)
	})
}

// DeleteRoute implements InferenceService.
func (s *server) DeleteRoute(ctx context.Context, req *inferencev1.DeleteRouteRequest) (*inferencev1.DeleteRouteResponse, error) {
	_, err := s.change(ctx, false, func(now store.Snapshot) (store.Change, error) {
		if indexOf(now, req.GetName()) < 0 {
			return store.Change{}, s.notChangeable(req.GetName())
		}
		return store.Change{Delete: req.GetName()}, nil
	})
	if err != nil {
		return nil, err
	}
	return &inferencev1.DeleteRouteResponse{}, nil
}

// change stores a change of a route of the caller's tenant, or only checks it.
func (s *server) change(ctx context.Context, only bool, change func(store.Snapshot) (store.Change, error)) (*inferencev1.Route, error) {
	if s.Stored == nil {
		return nil, notStored()
	}
	var checked store.Route
	done, err := s.Stored.Change(ctx, authn.Tenant(ctx), func(now store.Snapshot) (store.Change, error) {
		c, err := change(now)
		if err == nil && only {
			checked, err = *c.Put, errChecked
		}
		return c, err
	})
	if errors.Is(err, errChecked) {
		return storedToProto(checked), nil
	}
	if err != nil {
		return nil, err
	}
	return storedToProto(done), nil
}

// checkRoute refuses a route that cannot be evaluated, or has a target without a provider.
func (s *server) checkRoute(r store.Route) error {
	if wrong := s.Routes.Check(r); wrong != nil {
		return fault.Invalid("route."+wrong.Field, "%s", wrong.Message)
	}
	return nil
}

// notChangeable is the error of a change of a route that is not stored.
func (s *server) notChangeable(name string) error {
	if _, configured := s.Routes.Configured(name); configured {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "route %q is in the configuration", name).
			Hint("Change inference.routes, or ask an operator to.")
	}
	return noRoute(name)
}

func noRoute(name string) error { return fault.NotFound("there is no route %q", name) }

func notStored() error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "there is no database for routes").
		Hint("Write the route into inference.routes of the configuration.")
}

func indexOf(s store.Snapshot, name string) int {
	return slices.IndexFunc(s.Routes, func(r store.Route) bool { return r.Name == name })
}

func specOf(r *inferencev1.Route) store.Spec {
	spec := store.Spec{
		Description: r.GetDescription(), Priority: r.GetPriority(), Disabled: r.GetDisabled(), When: r.GetWhen(),
		SwitchOnFilter: r.GetSwitchOnFilter(),
	}
	for _, t := range r.GetTargets() {
		spec.Targets = append(spec.Targets, store.Target{Model: t.GetModel(), Weight: t.GetWeight()})
	}
	return spec
}

func routeToProto(r route.Listed) *inferencev1.Route {
	if r.Stored != nil {
		return storedToProto(*r.Stored)
	}
	out := &inferencev1.Route{
		Name: r.Name, When: r.When, SwitchOnFilter: r.SwitchOnFilter, Origin: originToProto(r.Origin),
	}
	for _, t := range r.Targets {
		out.Targets = append(out.Targets, &inferencev1.RouteTarget{Model: t.Model, Weight: int32(t.Weight)})
	}
	return out
}

func storedToProto(r store.Route) *inferencev1.Route {
	out := &inferencev1.Route{
		Name: r.Name, When: r.Spec.When, SwitchOnFilter: r.Spec.SwitchOnFilter, Description: r.Spec.Description, Priority: r.Spec.Priority,
		Disabled: r.Spec.Disabled, Origin: originToProto(route.Stored), Revision: r.Revision,
		CreateTime: timestamppb.New(r.CreateTime), UpdateTime: timestamppb.New(r.UpdateTime),
	}
	for _, t := range r.Spec.Targets {
		out.Targets = append(out.Targets, &inferencev1.RouteTarget{Model: t.Model, Weight: t.Weight})
	}
	return out
}

func originToProto(o route.Origin) inferencev1.RouteOrigin {
	switch o {
	case route.Configuration:
		return inferencev1.RouteOrigin_ROUTE_ORIGIN_CONFIGURATION
	case route.Stored:
		return inferencev1.RouteOrigin_ROUTE_ORIGIN_API
	}
	return inferencev1.RouteOrigin_ROUTE_ORIGIN_UNSPECIFIED
}
