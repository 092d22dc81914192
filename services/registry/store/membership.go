package store

import (
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
)

// AskUser is the tool that asks the user a question. Selectors and globs over all sources do not select it: an agent asks only if its
// owner names the tool or its source.
const AskUser = Mesh + "__ask_user"

// Mesh is the name of the source with the mesh's own tools.
const Mesh = "mesh"

// GroupSpec defines which tools are in a group.
type GroupSpec struct {
	Description string     `json:"description,omitempty"`
	Selectors   []Selector `json:"selectors,omitempty"`
	Tools       []string   `json:"tools,omitempty"`
	Exclude     []string   `json:"exclude,omitempty"`
}

// Selector matches tools whose source and own name match both globs, that have one of the effects and one of the tags, and whose source has
// all labels; empty fields match everything.
type Selector struct {
	Source  string            `json:"source,omitempty"`
	Name    string            `json:"name,omitempty"`
	Effects []Effect          `json:"effects,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
	Tags    []string          `json:"tags,omitempty"`
}

// Condition is a part of a selector.
type Condition string

// Conditions of selectors.
const (
	BySource Condition = "source"
	ByName   Condition = "name"
	ByEffect Condition = "effects"
	ByLabel  Condition = "labels"
	ByTag    Condition = "tags"
)

// Unmet returns the first condition that a tool, with its definition, does not meet, "" if it meets all.
func (sel Selector) Unmet(t Tool) Condition {
	if c := sel.unmetByName(t.Name); c != "" {
		return c
	}
	if len(sel.Effects) > 0 && !slices.Contains(sel.Effects, t.Effect) {
		return ByEffect
	}
	for name, value := range sel.Labels {
		if have, ok := t.Source.Spec.Labels[name]; !ok || have != value {
			return ByLabel
		}
	}
	if len(sel.Tags) > 0 && !slices.ContainsFunc(sel.Tags, func(tag string) bool { return slices.Contains(t.Definition.Tags, tag) }) {
		return ByTag
	}
	return ""
}

func (sel Selector) unmetByName(tool string) Condition {
	source, name, _ := strings.Cut(tool, "__")
	switch {
	case tool == AskUser && sel.Source != Mesh:
		return BySource
	case sel.Source != "" && !glob.Match(sel.Source, source):
		return BySource
	case sel.Name != "" && !glob.Match(sel.Name, name):
		return ByName
	}
	return ""
}

// Rule is the part of a group that decides about a tool: an element of the list Field, or none if Field is "".
type Rule struct {
	Field string
	Index int
}

// Fields of a group that hold rules, in the order in which they are tried.
const (
	FieldExclude   = "exclude"
	FieldTools     = "tools"
	FieldSelectors = "selectors"
)

// Includes reports whether tools to which the rule applies are in the group.
func (r Rule) Includes() bool { return r.Field == FieldTools || r.Field == FieldSelectors }

// ByNameAlone reports whether a tool's name decides its membership.
func (s GroupSpec) ByNameAlone() bool {
	return !slices.ContainsFunc(s.Selectors, func(sel Selector) bool { return len(sel.Effects)+len(sel.Labels)+len(sel.Tags) > 0 })
}

// MayHold reports whether a tool may be in the group, judging by its namespaced name.
func (s GroupSpec) MayHold(tool string) bool { return s.RuleByName(tool).Includes() }

// Holds reports whether a tool is in the group.
func (s GroupSpec) Holds(t Tool) bool { return s.RuleFor(t).Includes() }

// RuleFor returns the first rule that applies to a tool.
func (s GroupSpec) RuleFor(t Tool) Rule {
	return s.rule(t.Name, func(sel Selector) bool { return sel.Unmet(t) == "" })
}

// RuleByName returns the first rule that applies to a tool if the effects, labels and tags in selectors are met.
func (s GroupSpec) RuleByName(tool string) Rule {
	return s.rule(tool, func(sel Selector) bool { return sel.unmetByName(tool) == "" })
}

func (s GroupSpec) rule(tool string, selects func(Selector) bool) Rule {
	if i := slices.IndexFunc(s.Exclude, func(g string) bool { return glob.Match(g, tool) }); i >= 0 {
		return Rule{FieldExclude, i}
	}
	if i := slices.Index(s.Tools, tool); i >= 0 {
		return Rule{FieldTools, i}
	}
	if i := slices.IndexFunc(s.Selectors, selects); i >= 0 {
		return Rule{FieldSelectors, i}
	}
	return Rule{}
}
