package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/nearest"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// maxCandidates limits the names that a wrong one is compared with.
const maxCandidates = 2000

// ExplainToolGroup implements ToolGroupService.
func (s *ToolGroups) ExplainToolGroup(ctx context.Context, req *registryv1.ExplainToolGroupRequest) (
	*registryv1.ExplainToolGroupResponse, error,
) {
	name, tool := req.GetName(), req.GetTool()
	if strings.Contains(name, "\x00") {
		return nil, noGroup(store.ErrNotFound, name)
	}
	g, err := s.store.Group(ctx, authn.Tenant(ctx), name)
	if err != nil {
		return nil, noGroup(err, name)
	}
	t, ok, err := s.catalog.usable(ctx, authn.From(ctx), tool)
	if err != nil {
		return nil, err
	}
	out := &registryv1.ExplainToolGroupResponse{Tool: tool}
	if !ok {
		out.Cause = registryv1.ToolGroupCause_TOOL_GROUP_CAUSE_NOT_AVAILABLE
		if rule := g.Spec.RuleByName(tool); rule.Field != store.FieldSelectors { // a selector may ask for more than a name
			out.Rule = ruleText(rule)
		}
		out.Message, err = s.notAvailable(ctx, tool)
		return out, err
	}
	rule := g.Spec.RuleFor(t)
	out.Member, out.Rule = rule.Includes(), ruleText(rule)
	switch rule.Field {
	case store.FieldExclude:
		out.Cause = registryv1.ToolGroupCause_TOOL_GROUP_CAUSE_EXCLUDED
		out.Message = fmt.Sprintf("%s is not in %s: %s excludes %q.", tool, name, out.GetRule(), g.Spec.Exclude[rule.Index])
	case store.FieldTools:
		out.Cause = registryv1.ToolGroupCause_TOOL_GROUP_CAUSE_LISTED
		out.Message = fmt.Sprintf("%s is in %s: %s lists it.", tool, name, out.GetRule())
	case store.FieldSelectors:
		out.Cause = registryv1.ToolGroupCause_TOOL_GROUP_CAUSE_SELECTED
		out.Message = fmt.Sprintf("%s is in %s: it matches %s.", tool, name, out.GetRule())
	default:
		out.Cause = registryv1.ToolGroupCause_TOOL_GROUP_CAUSE_NOT_SELECTED
		out.Message = fmt.Sprintf("%s is not in %s: it is not listed, and no selector matches it.", tool, name)
		out.Unmet = unmet(g.Spec, t)
	}
	return out, nil
}

func ruleText(r store.Rule) string {
	if r.Field == "" {
		return ""
	}
	return fmt.Sprintf("%s[%d]", r.Field, r.Index)
}

// notAvailable suggests the tool that may be meant, of those that the caller may use.
func (s *ToolGroups) notAvailable(ctx context.Context, tool string) (string, error) {
	names, err := s.catalog.visible(ctx, authn.From(ctx), "", "", maxCandidates)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("There is no tool %q that you may use", tool)
	if near := nearest.Name(tool, names); near != "" {
		return fmt.Sprintf("%s. Did you mean %q?", text, near), nil
	}
	return text + ".", nil
}

// unmet says for each selector which condition a tool does not meet.
func unmet(spec store.GroupSpec, t store.Tool) []*registryv1.UnmetSelector {
	source, own, _ := strings.Cut(t.Name, "__")
	var out []*registryv1.UnmetSelector
	for i, sel := range spec.Selectors {
		u := &registryv1.UnmetSelector{Selector: fmt.Sprintf("%s[%d]", store.FieldSelectors, i)}
		condition := sel.Unmet(t)
		u.Condition = string(condition)
		switch condition {
		case store.BySource:
			u.Message = fmt.Sprintf("the source is %q, not %q", source, sel.Source)
			if t.Name == store.AskUser {
				u.Message = fmt.Sprintf("%s is selected only where the source is written as %q", t.Name, source)
			}
		case store.ByName:
			u.Message = fmt.Sprintf("the name is %q, not %q", own, sel.Name)
		case store.ByEffect:
			u.Message = fmt.Sprintf("the effect class is %s, not %s", effectText(t.Effect), effectsText(sel.Effects))
		case store.ByTag:
			u.Message = fmt.Sprintf("the tags are %s, and %s is asked for", orNone(t.Definition.Tags), strings.Join(sel.Tags, " or "))
		case store.ByLabel:
			u.Message = fmt.Sprintf("the source %q has not the labels %s", source, labelsText(sel.Labels))
		}
		out = append(out, u)
	}
	return out
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

func effectText(e store.Effect) string {
	if name := enum.Name(turnv1.EffectClass(e)); name != "" {
		return name
	}
	return "unknown"
}

func effectsText(list []store.Effect) string {
	var names []string
	for _, e := range list {
		names = append(names, effectText(e))
	}
	return strings.Join(names, " or ")
}

func labelsText(labels map[string]string) string {
	var pairs []string
	for name, value := range labels {
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ", ")
}
