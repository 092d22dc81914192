package sqldb_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Rows are found by the most specific index, not by scanning everything of the tenant; also in files that predate the statistics, and in
// those that got another table since.
func TestPlansKnowThatATenantHasMuch(t *testing.T) {
	url := "sqlite:" + t.TempDir() + "/plans.db"
	files := fstest.MapFS{"m/001_notes.sql": {Data: []byte(`-- +goose Up
CREATE TABLE notes (tenant TEXT NOT NULL, id TEXT NOT NULL, book TEXT NOT NULL, done BIGINT NOT NULL, PRIMARY KEY (tenant, id)){{rowless}};
CREATE INDEX notes_by_book ON notes (tenant, book);
`)}}
	const byBook = "SELECT id FROM notes WHERE tenant = $1 AND book = $2"
	plan := func(change func(*sqldb.DB)) string {
		db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "notes"})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := db.Migrate(t.Context(), files, "m"); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(db)
		}
		if _, err := sqldb.All(t.Context(), db.Reader(), sqldb.Column[string], byBook, "t", "b"); err != nil {
			t.Fatal(err)
		}
		plans, err := db.Plans(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range plans {
			if p.Statement == byBook {
				return p.Steps
			}
		}
		return fmt.Sprint("not among ", plans)
	}
	const want = "notes_by_book (tenant=? AND book=?)"
	if got := plan(nil); !strings.Contains(got, want) {
		t.Errorf("a new file: %s", got)
	}
	plan(func(db *sqldb.DB) {
		err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "DROP TABLE sqlite_stat1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	if got := plan(nil); !strings.Contains(got, want) {
		t.Errorf("a file that was not described: %s", got)
	}
	files["m/002_done.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE INDEX notes_open ON notes (tenant, book) WHERE done = 0;\n")}
	if got := plan(nil); !strings.Contains(got, want) {
		t.Errorf("a file with a change: %s", got)
	}
}
