package authz

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Permissions is what a principal may do: globs over "area.noun.verb" that grant, and globs that deny.
type Permissions struct {
	give []string
	take []denial
}

// denial is a glob that denies, and the rule it comes from.
type denial struct{ glob, rule string }

// Verdict reports whether a principal holds a permission.
type Verdict struct {
	// Allowed reports whether the principal holds the permission.
	Allowed bool
	// DeniedBy is the rule that denies the permission; empty if it is allowed, and if no rule grants it.
	DeniedBy string
	// Quota is the limits that apply to the principal; nil for none. It must not be modified.
	Quota *policyv1.EffectiveQuota
}

// Parse reads the globs of GetPermissionsResponse. A glob that starts with "!" denies what it matches and wins over every grant; deniedBy
// maps it to its rule.
func Parse(globs []string, deniedBy map[string]string) Permissions {
	p := Permissions{give: make([]string, 0, len(globs))}
	for _, g := range globs {
		if taken, ok := strings.CutPrefix(g, "!"); ok {
			p.take = append(p.take, denial{taken, deniedBy[g]})
		} else {
			p.give = append(p.give, g)
		}
	}
	return p
}

// Decide reports whether the permission is granted and not denied.
func (p Permissions) Decide(permission string) Verdict {
	for _, d := range p.take {
		if glob.Any([]string{d.glob}, permission) {
			return Verdict{DeniedBy: d.rule}
		}
	}
	return Verdict{Allowed: glob.Any(p.give, permission)}
}
