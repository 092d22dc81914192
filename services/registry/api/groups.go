package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/membership"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// ToolGroups implements ToolGroupService.
type ToolGroups struct {
	registryv1.UnimplementedToolGroupServiceServer
	store   store.GroupStore
	catalog catalog
	now     func() time.Time
}

// CreateToolGroup implements ToolGroupService.
func (s *ToolGroups) CreateToolGroup(ctx context.Context, req *registryv1.CreateToolGroupRequest) (*registryv1.ToolGroup, error) {
	g := store.Group{Tenant: authn.Tenant(ctx), Name: req.GetToolGroup().GetName(), Spec: groupSpec(req.GetToolGroup()), CreateTime: s.now()}
	g.UpdateTime = g.CreateTime
	if g.Name == "" {
		return nil, fault.Invalid("tool_group.name", "a name is required")
	}
	if err := checkGroup(g.Spec); err != nil {
		return nil, err
	}
	if req.GetValidateOnly() {
		return s.withMembers(ctx, g)
	}
	err := s.store.CreateGroup(ctx, g)
	if errors.Is(err, store.ErrExists) {
		return nil, fault.AlreadyExists("a tool group named %q exists already", g.Name).
			Hint("Choose another name, or update the one that exists.")
	}
	if err != nil {
		return nil, fmt.Errorf("create tool group: %w", err)
	}
	return s.withMembers(ctx, g)
}

// GetToolGroup implements ToolGroupService.
func (s *ToolGroups) GetToolGroup(ctx context.Context, req *registryv1.GetToolGroupRequest) (*registryv1.ToolGroup, error) {
	if strings.Contains(req.GetName(), "\x00") {
		return nil, noGroup(store.ErrNotFound, req.GetName())
	}
	g, err := s.store.Group(ctx, authn.Tenant(ctx), req.GetName())
	if err != nil {
		return nil, noGroup(err, req.GetName())
	}
	return s.withMembers(ctx, g)
}

// ListToolGroups implements ToolGroupService.
func (s *ToolGroups) ListToolGroups(ctx context.Context, req *registryv1.ListToolGroupsRequest) (*registryv1.ListToolGroupsResponse,
	error,
) {
	var after string
	size, err := page.Request("tool-groups", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	found, err := s.store.Groups(ctx, authn.Tenant(ctx), after, size+1)
	if err != nil {
		return nil, fmt.Errorf("list tool groups: %w", err)
	}
	resp := &registryv1.ListToolGroupsResponse{}
	found, resp.NextPageToken = page.Trim(found, size, "tool-groups", func(g store.Group) any { return g.Name })
	for _, g := range found {
		resp.ToolGroups = append(resp.ToolGroups, groupToProto(g))
	}
	return resp, nil
}

// errChecked ends the transaction of a change that is only checked.
var errChecked = errors.New("only checked")

var groupFields = fieldmask.Resource{Name: "tool_group", Mutable: []string{"description", "selectors", "tools", "exclude"}}

// UpdateToolGroup implements ToolGroupService.
func (s *ToolGroups) UpdateToolGroup(ctx context.Context, req *registryv1.UpdateToolGroupRequest) (*registryv1.ToolGroup, error) {
	name := req.GetToolGroup().GetName()
	if name == "" {
		return nil, fault.Invalid("tool_group.name", "a name is required")
	}
	var checked store.Group
	g, err := s.store.UpdateGroup(ctx, authn.Tenant(ctx), name, func(g *store.Group) error {
		now := groupToProto(*g)
		if err := groupFields.Apply(now, req.GetToolGroup(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		g.Spec = groupSpec(now)
		g.UpdateTime = s.now()
		if err := checkGroup(g.Spec); err != nil || !req.GetValidateOnly() {
			return err
		}
		checked = *g
		return errChecked
	})
	if errors.Is(err, errChecked) {
		return s.withMembers(ctx, checked)
	}
	if err != nil {
		return nil, noGroup(err, name)
	}
	return s.withMembers(ctx, g)
}

// DeleteToolGroup implements ToolGroupService.
func (s *ToolGroups) DeleteToolGroup(ctx context.Context, req *registryv1.DeleteToolGroupRequest) (*registryv1.DeleteToolGroupResponse,
	error,
) {
	if strings.Contains(req.GetName(), "\x00") {
		return nil, noGroup(store.ErrNotFound, req.GetName())
	}
	if err := s.store.DeleteGroup(ctx, authn.Tenant(ctx), req.GetName()); err != nil {
		return nil, noGroup(err, req.GetName())
	}
	return &registryv1.DeleteToolGroupResponse{}, nil
}

// EvaluateToolGroups implements ToolGroupService.
func (s *ToolGroups) EvaluateToolGroups(ctx context.Context, req *registryv1.EvaluateToolGroupsRequest) (
	*registryv1.EvaluateToolGroupsResponse, error,
) {
	members, err := membership.Evaluate(ctx, s.catalog.store, req.GetTenant(), req.GetGroups(), req.GetTools())
	if err != nil {
		return nil, err
	}
	resp := &registryv1.EvaluateToolGroupsResponse{Groups: members}
	if !req.GetWithEffects() {
		return resp, nil
	}
	resp.Effects = map[string]turnv1.EffectClass{}
	tools, err := s.catalog.store.Tools(ctx, req.GetTenant(), req.GetTools())
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	for _, t := range tools {
		resp.Effects[t.Name] = turnv1.EffectClass(t.Effect)
	}
	return resp, nil
}

func noGroup(err error, name string) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.NotFound("there is no tool group %q", name)
	}
	return err
}

// withMembers returns a group with its present tools that the caller may use.
func (s *ToolGroups) withMembers(ctx context.Context, g store.Group) (*registryv1.ToolGroup, error) {
	list := toolList{groups: []store.GroupSpec{g.Spec}}
	names, err := s.catalog.fitting(ctx, g.Tenant, list.may)
	if err != nil {
		return nil, err
	}
	out := groupToProto(g)
	for part := range slices.Chunk(names, namesAtOnce) {
		usable, err := s.catalog.allowed(ctx, authn.From(ctx), part)
		if err != nil {
			return nil, err
		}
		if usable, err = s.catalog.standing(ctx, g.Tenant, list, usable); err != nil {
			return nil, err
		}
		out.Members = append(out.Members, usable...)
	}
	return out, nil
}

// maxLabel limits a label's name and value in a selector, in bytes.
const maxLabel = 256

func checkGroup(spec store.GroupSpec) error {
	var wrong []fault.Field
	for i, g := range spec.Exclude {
		if err := glob.CheckName(g); err != nil {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("tool_group.exclude[%d]", i), Message: err.Error()})
		}
	}
	for i, tool := range spec.Tools {
		if strings.ContainsAny(tool, "*?") {
			wrong = append(wrong, fault.Field{
				Path:    fmt.Sprintf("tool_group.tools[%d]", i),
				Message: fmt.Sprintf("%q is a pattern: write it as a selector, here are names of tools", tool),
			})
		}
	}
	for i, sel := range spec.Selectors {
		if err := glob.CheckName(sel.Source); err != nil {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("tool_group.selectors[%d].source", i), Message: err.Error()})
		}
		if err := glob.CheckName(sel.Name); err != nil {
			wrong = append(wrong, fault.Field{Path: fmt.Sprintf("tool_group.selectors[%d].name", i), Message: err.Error()})
		}
		for name, value := range sel.Labels {
			if name == "" || len(name) > maxLabel || len(value) > maxLabel {
				wrong = append(wrong, fault.Field{
					Path:    fmt.Sprintf("tool_group.selectors[%d].labels", i),
					Message: fmt.Sprintf("names and values must have at most %d bytes, and names at least one", maxLabel),
				})
				break
			}
		}
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	return nil
}

func groupSpec(g *registryv1.ToolGroup) store.GroupSpec {
	spec := store.GroupSpec{Description: g.GetDescription(), Tools: g.GetTools(), Exclude: g.GetExclude()}
	for _, s := range g.GetSelectors() {
		sel := store.Selector{Source: s.GetSource(), Name: s.GetName(), Labels: s.GetLabels(), Tags: s.GetTags()}
		for _, e := range s.GetEffects() {
			sel.Effects = append(sel.Effects, store.Effect(e))
		}
		spec.Selectors = append(spec.Selectors, sel)
	}
	return spec
}

func groupToProto(g store.Group) *registryv1.ToolGroup {
	out := &registryv1.ToolGroup{
		Name: g.Name, Description: g.Spec.Description, Tools: g.Spec.Tools, Exclude: g.Spec.Exclude,
		CreateTime: timestamp.Of(g.CreateTime), UpdateTime: timestamp.Of(g.UpdateTime),
	}
	for _, s := range g.Spec.Selectors {
		sel := &registryv1.ToolSelector{Source: s.Source, Name: s.Name, Labels: s.Labels, Tags: s.Tags}
		for _, e := range s.Effects {
			sel.Effects = append(sel.Effects, turnv1.EffectClass(e))
		}
		out.Selectors = append(out.Selectors, sel)
	}
	return out
}
