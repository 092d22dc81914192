package access

import "github.com/windlass-dev/windlass/services/policy/store"

// RoleGrant is what a role grants to those who have it.
type RoleGrant struct {
	// Role is the name of the role.
	Role string
	// Permissions are globs.
	Permissions []string
}

// Roles returns what roles are granted by policies whose only condition is the role, those with the highest priority first. A role occurs
// as often as policies name it.
func (s *Set) Roles() (out []RoleGrant) {
	for _, p := range s.policies {
		spec := p.Spec
		if spec.Disabled || p.broken != "" || p.denies() || spec.Expression != "" || len(spec.Permissions) == 0 || len(spec.Matchers) != 1 {
			continue
		}
		if m := spec.Matchers[0]; m.Path == "$roles" && m.Operator == store.Contains {
			for _, role := range m.Values {
				out = append(out, RoleGrant{role, spec.Permissions})
			}
		}
	}
	return out
}
