package access

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Applied is the policies that match a principal.
type Applied struct {
	// Groups are the tool groups that the policies name.
	Groups []string

	allow, deny []*Policy
	refused     string // why the principal is denied everything
}

// Verdict is what the policies say about a tool or permission.
type Verdict struct {
	// Allowed and Denied are both false if no policy says anything.
	Allowed, Denied bool
	// Policies are the names of the policies that decide, by priority.
	Policies []string
	// Reason says why.
	Reason string
}

// Rule is how decisions name the first of the policies.
func (v Verdict) Rule() string {
	if len(v.Policies) == 0 {
		return ""
	}
	return RuleName(v.Policies[0])
}

// RuleName is how decisions name a policy in place of a rule.
func RuleName(policy string) string { return "policy:" + policy }

// Members says which tools are in which groups.
type Members []*policyv1.ToolGroupMembers

// Missing returns the groups that members lacks.
func (a *Applied) Missing(members Members) []string {
	var out []string
	for _, g := range a.Groups {
		if members.of(g) == nil {
			out = append(out, g)
		}
	}
	return out
}

func (m Members) of(group string) *policyv1.ToolGroupMembers {
	for _, g := range m {
		if g.GetGroup() == group {
			return g
		}
	}
	return nil
}

// covers returns the element of the policy that grants a tool, "" if none does. A group that does not exist, or about which nothing is
// known, has no tools for a policy that allows, and all for one that denies.
func (p *Policy) covers(tool string, members Members) string {
	for i, g := range p.Spec.Tools {
		if glob.Match(g, tool) {
			return fmt.Sprintf("tools[%d]", i)
		}
	}
	for i, g := range p.Spec.ToolGroups {
		in := members.of(g)
		if (in == nil || in.GetMissing()) && p.denies() || slices.Contains(in.GetTools(), tool) {
			return fmt.Sprintf("tool_groups[%d]", i)
		}
	}
	return ""
}

// coversPermission returns the element of the policy that grants a permission, "" if none does.
func (p *Policy) coversPermission(permission string) string {
	for i, g := range p.Spec.Permissions {
		if glob.Match(g, permission) {
			return fmt.Sprintf("permissions[%d]", i)
		}
	}
	return ""
}

// Tool says what the policies say about a tool.
func (a *Applied) Tool(tool, subject string, members Members) Verdict {
	return a.decide("tool", tool, subject, func(p *Policy) bool { return p.covers(tool, members) != "" })
}

// Permission says what the policies say about a permission.
func (a *Applied) Permission(permission, subject string) Verdict {
	return a.decide("permission", permission, subject, func(p *Policy) bool { return p.coversPermission(permission) != "" })
}

func (a *Applied) decide(kind, resource, subject string, covers func(*Policy) bool) Verdict {
	if a.refused != "" {
		return Verdict{Denied: true, Reason: fmt.Sprintf("%s %q is denied to %q: %s", kind, resource, subject, a.refused)}
	}
	if names := covering(a.deny, covers); names != nil {
		return Verdict{
			Denied: true, Policies: names, Reason: fmt.Sprintf("access policy %q denies %s %q to %q", names[0], kind, resource, subject),
		}
	}
	if names := covering(a.allow, covers); names != nil {
		return Verdict{Allowed: true, Policies: names, Reason: fmt.Sprintf("access policy %q allows %s %q", names[0], kind, resource)}
	}
	return Verdict{}
}

func covering(policies []*Policy, covers func(*Policy) bool) (names []string) {
	for _, p := range policies {
		if covers(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// Tools keeps the tools that floor allows or a policy allows, and that no policy denies; floor is asked about each.
func (a *Applied) Tools(tools []string, members Members, floor func(tool string) (allowed, denied bool)) []string {
	if a.refused != "" {
		return nil
	}
	index := a.index(members)
	var out []string
	for _, tool := range tools {
		allowed, denied := floor(tool)
		if denied || grants(a.deny, tool, index) {
			continue
		}
		if allowed || grants(a.allow, tool, index) {
			out = append(out, tool)
		}
	}
	return out
}

// index makes sets of the members of the groups that are named, since a list may have thousands of tools.
func (a *Applied) index(members Members) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, g := range a.Groups {
		m := members.of(g)
		if m == nil || m.GetMissing() {
			continue
		}
		set := make(map[string]bool, len(m.GetTools()))
		for _, t := range m.GetTools() {
			set[t] = true
		}
		out[g] = set
	}
	return out
}

// grants reports whether one of the policies names a tool.
func grants(policies []*Policy, tool string, index map[string]map[string]bool) bool {
	return slices.ContainsFunc(policies, func(p *Policy) bool {
		return glob.Any(p.Spec.Tools, tool) || slices.ContainsFunc(p.Spec.ToolGroups, func(g string) bool {
			set, ok := index[g]
			return set[tool] || !ok && p.denies()
		})
	})
}

// Permissions returns the globs of permissions that the policies allow, with "!" before denied ones, and the denying policies by glob.
func (a *Applied) Permissions() (globs []string, deniedBy map[string]string) {
	if a.refused != "" {
		return []string{"!*"}, nil
	}
	for _, p := range a.allow {
		globs = append(globs, p.Spec.Permissions...)
	}
	for _, p := range a.deny {
		for _, g := range p.Spec.Permissions {
			g = "!" + g
			globs = append(globs, g)
			if deniedBy == nil {
				deniedBy = map[string]string{}
			}
			if deniedBy[g] == "" {
				deniedBy[g] = RuleName(p.Name)
			}
		}
	}
	return globs, deniedBy
}

// HasPermissions reports whether the policies say anything about permissions.
func (a *Applied) HasPermissions() bool {
	says := func(p *Policy) bool { return len(p.Spec.Permissions) > 0 }
	return a.refused != "" || slices.ContainsFunc(a.allow, says) || slices.ContainsFunc(a.deny, says)
}

// Explanation is one policy's part in a decision.
type Explanation struct {
	Policy *Policy
	// Matches reports whether the policy applies to the principal, with the results of its conditions.
	Matches bool
	Results []MatcherResult
	// Grant is the element that covers the resource, "" if none does.
	Grant string
	// Message sums it up.
	Message string
}

// Explain evaluates every policy for a tool, or a permission if tool is empty.
func (s *Set) Explain(in Input, tool, permission string, members Members) []Explanation {
	var out []Explanation
	for _, p := range s.policies {
		e := Explanation{Policy: p}
		if tooLarge(in) == "" {
			e.Matches, e.Results = p.matches(in.Principal), p.results(in.Principal)
		}
		if tool != "" {
			e.Grant = p.covers(tool, members)
		} else {
			e.Grant = p.coversPermission(permission)
		}
		e.Message = e.sentence(tool+permission, members)
		out = append(out, e)
	}
	return out
}

func (e Explanation) sentence(resource string, members Members) string {
	p := e.Policy
	switch {
	case p.Spec.Disabled:
		return "It is disabled."
	case p.broken != "":
		return "It is not valid any more (" + p.broken + "): it allows nothing, and denies everyone what it names."
	case !e.Matches:
		return "It does not match the principal."
	case e.Grant == "":
		for _, g := range p.Spec.ToolGroups {
			if members.of(g).GetMissing() {
				return fmt.Sprintf("It matches the principal, and does not name %s; its tool group %q does not exist.", resource, g)
			}
		}
		return fmt.Sprintf("It matches the principal, and does not name %s.", resource)
	case p.denies():
		return fmt.Sprintf("It denies %s by %s.", resource, e.Grant)
	}
	return fmt.Sprintf("It allows %s by %s.", resource, e.Grant)
}
