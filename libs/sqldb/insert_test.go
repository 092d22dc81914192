package sqldb_test

import (
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func TestInsert(t *testing.T) {
	for columns, want := range map[string]string{
		"id":                    "INSERT INTO things (id) VALUES ($1)",
		"tenant, id,\n\tupdate": "INSERT INTO things (tenant, id,\n\tupdate) VALUES ($1, $2, $3)",
		"a,b,c,d,e,f,g,h,i,j,k": "INSERT INTO things (a,b,c,d,e,f,g,h,i,j,k) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
	} {
		if got := sqldb.Insert("things", columns); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

func TestPlaceholders(t *testing.T) {
	for _, row := range []struct {
		first, n int
		want     string
	}{{1, 0, ""}, {1, 1, "$1"}, {9, 3, "$9, $10, $11"}} {
		if got := sqldb.Placeholders(row.first, row.n); got != row.want {
			t.Errorf("%d from %d: %q", row.n, row.first, got)
		}
	}
}
