package authz

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/glob"
)

// Permissions is a principal's leave: globs over "area.noun.verb", those that give and those that take away.
type Permissions struct {
	give, take []string
}

// Parse reads the globs of GetPermissionsResponse. One that starts with "!" takes away what it matches, whatever else says.
func Parse(globs []string) Permissions {
	var p Permissions
	for _, g := range globs {
		if taken, ok := strings.CutPrefix(g, "!"); ok {
			p.take = append(p.take, taken)
		} else {
			p.give = append(p.give, g)
		}
	}
	return p
}

// Allow reports whether the permission is given and not taken away.
func (p Permissions) Allow(permission string) bool {
	return glob.Any(p.give, permission) && !glob.Any(p.take, permission)
}
