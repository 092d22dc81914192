package policy

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/quota"
)

// decider combines the rules of the configuration with the access policies of the tenant.
type decider struct {
	engine *Engine
	sets   *sets
	quotas *quota.Book
	maxAge time.Duration
}

// rights is what one principal may do: by rules, and by the access policies that match it.
type rights struct {
	engine   *Engine
	in       access.Input
	applied  *access.Applied
	revision uint64
}

// now returns a principal's rights with all policies that were committed before the call.
func (d *decider) now(ctx context.Context, p *policyv1.Principal) (rights, error) {
	return d.by(p, func() (*access.Set, error) { return d.sets.current(ctx, p.GetTenant()) })
}

// recent returns a principal's rights with policies that another process may have changed within the last maxAge.
func (d *decider) recent(ctx context.Context, p *policyv1.Principal) (rights, error) {
	return d.by(p, func() (*access.Set, error) { return d.sets.recent(ctx, p.GetTenant(), d.maxAge) })
}

// by returns a principal's rights with the given policies, which are not asked for if they cannot apply.
func (d *decider) by(p *policyv1.Principal, policies func() (*access.Set, error)) (rights, error) {
	if p.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return rights{engine: d.engine, in: access.Input{Principal: p}, applied: &access.Applied{}}, nil
	}
	set, err := policies()
	if err != nil {
		return rights{}, err
	}
	in, err := access.NewInput(p)
	if err != nil {
		return rights{}, err
	}
	return d.with(set, in), nil
}

func (d *decider) with(set *access.Set, in access.Input) rights {
	return rights{engine: d.engine, in: in, applied: set.For(in), revision: set.Revision}
}

// quota returns the limits that apply to the principal of rights; nil for none.
func (d *decider) quota(ctx context.Context, r rights) (*policyv1.EffectiveQuota, error) {
	p := r.in.Principal
	if p.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return nil, nil
	}
	return d.quotas.Of(ctx, p.GetTenant(), p.GetSubject(), r.revision)
}

// tool decides whether the principal may call a tool.
func (r rights) tool(tool string, members access.Members) Verdict {
	v := combine(r.engine.Tool(r.in.Principal, tool), r.applied.Tool(tool, r.in.Principal.GetSubject(), members))
	if !v.Allowed && v.Rule == "" && v.Reason == "" {
		v.Reason = fmt.Sprintf("%s allows tool %q to %q", r.nothing(), tool, r.in.Principal.GetSubject())
	}
	return v
}

// permission decides whether the principal holds a permission.
func (r rights) permission(name string) Verdict {
	p := r.in.Principal
	floor := Verdict{}
	switch v := r.engine.Permission(p, name); {
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

func (r rights) nothing() string {
	if r.revision == 0 {
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

// tools returns the tools that the principal may call, in the given order.
func (r rights) tools(tools []string, members access.Members) []string {
	floor := r.engine.floor(r.in.Principal)
	return r.applied.Tools(tools, members, func(tool string) (allowed, denied bool) {
		v := floor(tool)
		return v.Allowed, v.denied()
	})
}

// permissions returns the globs of the principal's permissions and the denying rules, see Engine.Permissions.
func (r rights) permissions() (globs []string, deniedBy map[string]string) {
	globs, deniedBy = r.engine.Permissions(r.in.Principal)
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
func (r rights) verdict(name string) authz.Verdict { return authz.Parse(r.permissions()).Decide(name) }
