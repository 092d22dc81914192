package decide

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/services/policy/access"
)

// Rights is what one principal may do: by rules, and by the access policies that match it.
type Rights struct {
	// Input is the principal, as policies see it.
	Input access.Input
	// Revision is that of the tenant's policies; 0 = it has none, or they do not apply.
	Revision uint64

	engine  *Engine
	applied *access.Applied
}

// Missing returns the groups whose members decisions on tools need besides those that are given.
func (r Rights) Missing(members access.Members) []string { return r.applied.Missing(members) }

// Tool decides whether the principal may call a tool.
func (r Rights) Tool(tool string, members access.Members) Verdict {
	v := combine(r.engine.tool(r.Input.Principal, tool), r.applied.Tool(tool, r.Input.Principal.GetSubject(), members))
	if !v.Allowed && v.Rule == "" && v.Reason == "" {
		v.Reason = fmt.Sprintf("%s allows tool %q to %q", r.nothing(), tool, r.Input.Principal.GetSubject())
	}
	return v
}

// MayAsk returns the name of the rule of the mesh that requires an approval of calls of a tool, for some arguments or for all; empty if
// none does. effect is "read", "idempotent", "once" or empty.
func (r Rights) MayAsk(tool, effect string) string {
	return r.engine.mayAsk(ToolCall{Principal: r.Input.Principal, Tool: tool, Effect: effect})
}

// Permission decides whether the principal holds a permission.
func (r Rights) Permission(name string) Verdict {
	p := r.Input.Principal
	floor := Verdict{}
	switch v := r.engine.permission(p, name); {
	case v.DeniedBy != "":
		floor = Verdict{Rule: v.DeniedBy, Reason: fmt.Sprintf("rule %q denies permission %q to %q", v.DeniedBy, name, p.GetSubject())}
	case v.Allowed:
		floor = Verdict{Allowed: true, Rule: r.engine.grants(p, name), Reason: fmt.Sprintf("a rule allows permission %q", name)}
	}
	v := combine(floor, r.applied.Permission(name, p.GetSubject()))
	if !v.Allowed && v.Rule == "" && v.Reason == "" {
		v.Reason = fmt.Sprintf("%s gives permission %q to %q", r.nothing(), name, p.GetSubject())
	}
	return v
}

func (r Rights) nothing() string {
	if r.Revision == 0 {
		return "no rule"
	}
	return "no rule and no access policy"
}

// combine applies deny before allow, and rules before policies.
func combine(floor Verdict, stored access.Verdict) Verdict {
	switch {
	case floor.denied():
		return floor
	case stored.Denied:
		return Verdict{Rule: stored.Rule(), Policies: stored.Policies, Reason: stored.Reason}
	case floor.Allowed:
		return floor
	case stored.Allowed:
		return Verdict{Allowed: true, Rule: stored.Rule(), Policies: stored.Policies, Reason: stored.Reason}
	}
	return Verdict{}
}

// Tools returns the tools that the principal may call, in the given order.
func (r Rights) Tools(tools []string, members access.Members) []string {
	floor := r.engine.floor(r.Input.Principal)
	return r.applied.Tools(tools, members, func(tool string) (allowed, denied bool) {
		v := floor(tool)
		return v.Allowed, v.denied()
	})
}

// Permissions returns the globs of the principal's permissions and the denying rules, see Engine.permissions.
func (r Rights) Permissions() (globs []string, deniedBy map[string]string) {
	globs, deniedBy = r.engine.permissions(r.Input.Principal)
	more, by := r.applied.Permissions()
	if len(more) == 0 {
		return globs, deniedBy
	}
	if deniedBy == nil {
		deniedBy = map[string]string{}
	}
	for g, name := range by {
		if deniedBy[g] == "" {
			deniedBy[g] = name
		}
	}
	return append(globs, more...), deniedBy
}

// verdict decides a permission as other servers do, from the globs.
func (r Rights) verdict(name string) authz.Verdict {
	if !r.applied.HasPermissions() {
		return r.engine.permission(r.Input.Principal, name)
	}
	return authz.Parse(r.Permissions()).Decide(name)
}
