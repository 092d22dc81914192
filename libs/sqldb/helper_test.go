package sqldb_test

import (
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
)

//go:embed testdata
var files embed.FS

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// each runs a test on both engines, with the tables of testdata/migrations.
func each(t *testing.T, f func(t *testing.T, db *sqldb.DB)) {
	t.Helper()
	t.Run(sqldb.SQLite, func(t *testing.T) { f(t, migrated(t, sqliteURL(t))) })
	t.Run(sqldb.Postgres, func(t *testing.T) { f(t, migrated(t, testpg.URL(t))) })
}

func sqliteURL(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "a ?#%b", "w.db") }

func open(t testing.TB, url string) *sqldb.DB {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "shop"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return db
}

func migrated(t testing.TB, url string) *sqldb.DB {
	t.Helper()
	db := open(t, url)
	if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
		t.Fatal(err)
	}
	return db
}

func insert(ctx context.Context, db *sqldb.DB, id string) error {
	return db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO items (id, n) VALUES ($1, $2)", id, 1)
		if err != nil {
			return fmt.Errorf("insert %s: %w", id, err)
		}
		return nil
	})
}

func count(t testing.TB, db *sqldb.DB, table string) int64 {
	t.Helper()
	n, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
