package decide

import (
	"context"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
)

// maxRoles is the maximum number of roles that Roles returns.
const maxRoles = 100

// Roles returns what rules and the access policies of a user's tenant would grant to the user who had a role, at most maxRoles, by name.
// Policies that depend on something besides the role are left out.
func (d *Decider) Roles(ctx context.Context, who *policyv1.Principal) ([]access.RoleGrant, error) {
	set, err := d.sets.recent(ctx, who.GetTenant(), d.maxAge)
	if err != nil {
		return nil, err
	}
	granted := map[string][]string{}
	for _, g := range append(d.engine.roles(who.GetSubject()), set.Roles()...) {
		granted[g.Role] = append(granted[g.Role], g.Permissions...)
	}
	out := make([]access.RoleGrant, 0, len(granted))
	for role, permissions := range granted {
		slices.Sort(permissions)
		out = append(out, access.RoleGrant{Role: role, Permissions: slices.Compact(permissions)})
	}
	slices.SortFunc(out, func(a, b access.RoleGrant) int { return strings.Compare(a.Role, b.Role) })
	return out[:min(len(out), maxRoles)], nil
}

// roles returns what rules grant to the roles of a user.
func (e *Engine) roles(subject string) (out []access.RoleGrant) {
	for _, r := range e.users {
		if r.Deny || len(r.Permissions) == 0 || len(r.Subjects) > 0 && !glob.Any(r.Subjects, subject) {
			continue
		}
		for _, role := range r.Roles {
			out = append(out, access.RoleGrant{Role: role, Permissions: r.Permissions})
		}
	}
	return out
}
