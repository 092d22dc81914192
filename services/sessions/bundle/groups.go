package bundle

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
)

// applyGroup creates or updates a tool group at the registry, in the name of the caller. A dry run has the registry check it.
func (s *Service) applyGroup(ctx context.Context, d *Document, out *Applied, dry bool) error {
	if s.deps.Groups == nil {
		return fault.Invalid("kind", "there are no tool groups here")
	}
	old, err := s.deps.Groups.GetToolGroup(ctx, &registryv1.GetToolGroupRequest{Name: d.ID()})
	if fault.Is(err, faultv1.Reason_REASON_NOT_FOUND) {
		out.Action = Created
		_, err = s.deps.Groups.CreateToolGroup(ctx, &registryv1.CreateToolGroupRequest{ToolGroup: d.Group, ValidateOnly: dry})
		return err
	}
	if err != nil || proto.Equal(written(old), written(d.Group)) {
		return err
	}
	out.Action = Updated
	_, err = s.deps.Groups.UpdateToolGroup(ctx, &registryv1.UpdateToolGroupRequest{
		ToolGroup: d.Group, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"*"}}, ValidateOnly: dry,
	})
	return err
}

// written is a group without what the registry says of it.
func written(g *registryv1.ToolGroup) *registryv1.ToolGroup {
	return &registryv1.ToolGroup{
		Name: g.GetName(), Description: g.GetDescription(), Selectors: g.GetSelectors(), Tools: g.GetTools(), Exclude: g.GetExclude(),
	}
}
