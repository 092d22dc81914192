package bundle

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
)

// Routes is the part of the inference service that manages routes. Requests are made in the name of the caller in ctx.
type Routes interface {
	// GetRoute returns a route of the tenant or of the configuration. One that does not exist is an error with the reason NOT_FOUND.
	GetRoute(ctx context.Context, in *inferencev1.GetRouteRequest, opts ...grpc.CallOption) (*inferencev1.Route, error)
	// CreateRoute creates a route, or only validates it.
	CreateRoute(ctx context.Context, in *inferencev1.CreateRouteRequest, opts ...grpc.CallOption) (*inferencev1.Route, error)
	// UpdateRoute changes the fields of a route that the mask names, or only validates the change. A route of the configuration is an error.
	UpdateRoute(ctx context.Context, in *inferencev1.UpdateRouteRequest, opts ...grpc.CallOption) (*inferencev1.Route, error)
}

// applyRoute creates or updates a route at inference, in the name of the caller. A dry run has inference check it. A route of the
// configuration that is as the document says is unchanged, so that a list of all routes can be applied.
func (s *Service) applyRoute(ctx context.Context, d *Document, out *Applied, dry bool) error {
	if s.deps.Routes == nil {
		return fault.Invalid("kind", "there are no routes here")
	}
	old, err := s.deps.Routes.GetRoute(ctx, &inferencev1.GetRouteRequest{Name: d.ID()})
	var now *inferencev1.Route
	switch {
	case fault.Is(err, faultv1.Reason_REASON_NOT_FOUND):
		out.Action = Created
		now, err = s.deps.Routes.CreateRoute(ctx, &inferencev1.CreateRouteRequest{Route: d.Route, ValidateOnly: dry})
	case err != nil:
		return err
	case proto.Equal(choosing(old), choosing(d.Route)):
		out.Revision = old.GetRevision()
		return nil
	default:
		out.Action = Updated
		want := choosing(d.Route)
		want.Revision = old.GetRevision() // another change in between is a conflict, after which the bundle is compared again
		now, err = s.deps.Routes.UpdateRoute(ctx, &inferencev1.UpdateRouteRequest{
			Route: want, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"*"}}, ValidateOnly: dry,
		})
	}
	out.Revision = now.GetRevision()
	return err
}

// choosing is a route without what the server says of it.
func choosing(r *inferencev1.Route) *inferencev1.Route {
	out := proto.CloneOf(r)
	out.Origin, out.Revision, out.CreateTime, out.UpdateTime = 0, 0, nil, nil
	return out
}
