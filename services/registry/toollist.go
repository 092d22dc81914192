package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// toolList is an agent's list of tools: globs and groups.
type toolList struct {
	globs  []string
	groups []store.GroupSpec
}

// may reports whether the list may contain a tool, judging by its name.
func (l toolList) may(tool string) bool {
	return fits(l.globs, tool) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return meant(g, tool).MayHold(tool) })
}

// byName reports whether the name alone decides.
func (l toolList) byName() bool {
	return !slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return !g.ByNameAlone() })
}

// has reports whether the list contains a tool.
func (l toolList) has(t store.Tool) bool {
	return fits(l.globs, t.Name) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return meant(g, t.Name).Holds(t) })
}

// meant returns a group as it applies to a tool. Selectors over all sources do not select the tool that asks the user.
func meant(g store.GroupSpec, tool string) store.GroupSpec {
	if tool == MeshSource+"__"+builtin.AskUser {
		g.Selectors = slices.DeleteFunc(slices.Clone(g.Selectors), func(sel store.Selector) bool { return sel.Source != MeshSource })
	}
	return g
}

// listed parses an agent's list of tools. It returns FAILED_PRECONDITION for an unknown group.
func (s *Service) listed(ctx context.Context, tenant string, globs []string) (toolList, error) {
	var list toolList
	for _, g := range globs {
		name, isGroup := strings.CutPrefix(g, groupPrefix)
		if !isGroup {
			list.globs = append(list.globs, g)
			continue
		}
		group, err := s.store.Group(ctx, tenant, name)
		if errors.Is(err, store.ErrNotFound) {
			return list, fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "the agent names the tool group %q, which does not exist", name).
				Hint("Create the group, or take it from the agent's tools.")
		}
		if err != nil {
			return list, fmt.Errorf("read tool group: %w", err)
		}
		list.groups = append(list.groups, group.Spec)
	}
	return list, nil
}

// standing keeps the names that the list contains, and reads the tools if their names are not enough.
func (s *Service) standing(ctx context.Context, tenant string, list toolList, names []string) ([]string, error) {
	if list.byName() || len(names) == 0 {
		return names, nil
	}
	tools, err := s.store.Tools(ctx, tenant, names)
	if err != nil {
		return nil, fmt.Errorf("read tools: %w", err)
	}
	var out []string
	for _, t := range tools {
		if list.has(t) {
			out = append(out, t.Name)
		}
	}
	return out, nil
}
