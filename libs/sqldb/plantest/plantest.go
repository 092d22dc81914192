// Package plantest finds statements that read more of a SQLite database than they need.
package plantest

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

var (
	// whole matches a scan of a whole table. Sub-queries of the same statement have short names.
	whole = regexp.MustCompile(`^SCAN ([a-z_]{3,})`)
	// tenants matches a search that visits all rows of a tenant.
	tenants = regexp.MustCompile(`^SEARCH (\w+) USING .*\(tenant=\?\)$`)
)

// Check fails for each statement used by a test that scans a table, or all rows of a tenant in it: the cost of a turn must not depend on
// how many there were before. Pages in the order of an index are fine, and so are statements that contain one of the given texts, which
// read small tables or run rarely.
func Check(t *testing.T, db *sqldb.DB, allowed ...string) {
	t.Helper()
	plans, err := db.Plans(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		if few(p.Statement, allowed) {
			continue
		}
		sorted := strings.Contains(p.Steps, "USE TEMP B-TREE")
		for step := range strings.SplitSeq(p.Steps, "\n") {
			page := strings.Contains(p.Statement, "LIMIT") && !sorted && strings.Contains(step, "USING INDEX")
			if !page && (whole.MatchString(step) || tenants.MatchString(step)) {
				t.Errorf("this statement goes through a table (%s):\n%s\n%s", step, p.Statement, p.Steps)
			}
		}
	}
}

func few(statement string, allowed []string) bool {
	for _, text := range allowed {
		if strings.Contains(statement, text) {
			return true
		}
	}
	return false
}
