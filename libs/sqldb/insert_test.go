package sqldb_test

import (
	"fmt"
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

func TestInsertsInsertAllRows(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		inserts := sqldb.NewInserts("items", "id, n")
		total := int64(0)
		for _, n := range []int{0, 1, 7, 8, 77} {
			var rows [][]any
			for i := range n {
				rows = append(rows, []any{fmt.Sprintf("%d of %d", i, n), i})
			}
			if err := db.Write(t.Context(), func(tx sqldb.Tx) error { return inserts.Exec(t.Context(), tx, rows) }); err != nil {
				t.Fatalf("%d rows: %v", n, err)
			}
			if total += int64(n); count(t, db, "items") != total {
				t.Errorf("%d rows, want %d", count(t, db, "items"), total)
			}
		}
		err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			return inserts.Exec(t.Context(), tx, [][]any{{"new", 1}, {"0 of 1", 1}})
		})
		if !sqldb.IsUnique(err) || count(t, db, "items") != total {
			t.Errorf("a row that is there already: %v", err)
		}
	})
}
