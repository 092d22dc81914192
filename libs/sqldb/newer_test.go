package sqldb_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// TestADatabaseOfALaterVersionIsRefused: after a downgrade the program would misread rows of which it knows nothing.
func TestADatabaseOfALaterVersionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		later := fstest.MapFS{
			"m/001_items.sql": {Data: []byte("SELECT 1")}, "m/002_log.sql": {Data: []byte("SELECT 1")},
			"m/003_more.sql": {Data: []byte("CREATE TABLE more (id TEXT NOT NULL PRIMARY KEY){{strict}}")},
		}
		if err := db.Migrate(t.Context(), later, "m"); err != nil {
			t.Fatal(err)
		}
		err := db.Migrate(t.Context(), files, "testdata/migrations")
		if !errors.Is(err, sqldb.ErrNewer) || !strings.Contains(err.Error(), "shop has migration 3") || !strings.Contains(err.Error(), "backup") {
			t.Errorf("Migrate = %v, want ErrNewer with the database, the migration and what to do", err)
		}
	})
}

// TestADatabaseOfBeforeTheFirstReleaseIsRefused: its tables are not those that the first migration makes.
func TestADatabaseOfBeforeTheFirstReleaseIsRefused(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		first := fstest.MapFS{"m/003_items.sql": {Data: []byte("SELECT 1")}}
		err := db.Migrate(t.Context(), first, "m") // it has 1 and 2
		if !errors.Is(err, sqldb.ErrOlder) || !strings.Contains(err.Error(), "shop has migration 2") {
			t.Errorf("Migrate = %v, want ErrOlder with the database and the migration", err)
		}
	})
}
