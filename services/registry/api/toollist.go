package api

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/registry/builtin"
	"github.com/windlass-dev/windlass/services/registry/sourcespec"
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
	if tool == sourcespec.Mesh+"__"+builtin.AskUser {
		g.Selectors = slices.DeleteFunc(slices.Clone(g.Selectors), func(sel store.Selector) bool { return sel.Source != sourcespec.Mesh })
	}
	return g
}

// fits reports whether globs match a tool. Globs over all sources do not match the tool that asks the user.
func fits(globs []string, tool string) bool {
	if tool != sourcespec.Mesh+"__"+builtin.AskUser {
		return glob.Any(globs, tool)
	}
	return slices.ContainsFunc(globs, func(g string) bool { return strings.HasPrefix(g, sourcespec.Mesh+"__") && glob.Match(g, tool) })
}
