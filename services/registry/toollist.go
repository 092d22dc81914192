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

// toolList is an agent's list of tools: globs, and groups.
type toolList struct {
	globs  []string
	groups []store.GroupSpec
}

// may reports whether the list stands for a tool as far as its name tells.
func (l toolList) may(tool string) bool {
	return fits(l.globs, tool) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return meant(g, tool).MayHold(tool) })
}

// byName reports whether the name tells all.
func (l toolList) byName() bool {
	return !slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return !g.ByNameAlone() })
}

// has reports whether the list stands for a tool.
func (l toolList) has(t store.Tool) bool {
	return fits(l.globs, t.Name) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return meant(g, t.Name).Holds(t) })
}

// meant returns a group as it speaks of a tool. The one that asks the user is not meant by selectors over all sources.
func meant(g store.GroupSpec, tool string) store.GroupSpec {
	if tool == MeshSource+"__"+builtin.AskUser {
		g.Selectors = slices.DeleteFunc(slices.Clone(g.Selectors), func(sel store.Selector) bool { return sel.Source != MeshSource })
	}
	return g
}

// listed reads an agent's list of tools. FAILED_PRECONDITION when it names a group that is not there.
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

// standing keeps those of the names that a list stands for, which may take a look at the tools.
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
