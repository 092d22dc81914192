package authz

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
)

// Permissions is what a principal may do: globs over "area.noun.verb", those that give and those that take away.
type Permissions struct {
	give []string
	take []denial
}

// denial is a glob that takes away, and the rule it comes from.
type denial struct{ glob, rule string }

// Verdict says whether a principal holds a permission.
type Verdict struct {
	// Allowed is the answer.
	Allowed bool
	// DeniedBy is the rule that takes the permission away; empty when it is allowed, and when no rule gives it.
	DeniedBy string
}

// Parse reads the globs of GetPermissionsResponse. One that starts with "!" takes away what it matches, whatever else says; deniedBy names
// its rule, by glob.
func Parse(globs []string, deniedBy map[string]string) Permissions {
	var p Permissions
	for _, g := range globs {
		if taken, ok := strings.CutPrefix(g, "!"); ok {
			p.take = append(p.take, denial{taken, deniedBy[g]})
		} else {
			p.give = append(p.give, g)
		}
	}
	return p
}

// Decide says whether the permission is given and not taken away.
func (p Permissions) Decide(permission string) Verdict {
	for _, d := range p.take {
		if glob.Any([]string{d.glob}, permission) {
			return Verdict{DeniedBy: d.rule}
		}
	}
	return Verdict{Allowed: glob.Any(p.give, permission)}
}
