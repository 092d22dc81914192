package api

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// toolList is an agent's list of tools: globs and groups.
type toolList struct {
	globs  []string
	groups []store.GroupSpec
}

// may reports whether the list may contain a tool, judging by its name.
func (l toolList) may(tool string) bool {
	return fits(l.globs, tool) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return g.MayHold(tool) })
}

// byName reports whether the name alone decides.
func (l toolList) byName() bool {
	return !slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return !g.ByNameAlone() })
}

// has reports whether the list contains a tool.
func (l toolList) has(t store.Tool) bool {
	return fits(l.globs, t.Name) || slices.ContainsFunc(l.groups, func(g store.GroupSpec) bool { return g.Holds(t) })
}

// fits reports whether globs match a tool. Globs over all sources do not match the tool that asks the user.
func fits(globs []string, tool string) bool {
	if tool != store.AskUser {
		return glob.Any(globs, tool)
	}
	return slices.ContainsFunc(globs, func(g string) bool { return strings.HasPrefix(g, store.Mesh+"__") && glob.Match(g, tool) })
}
