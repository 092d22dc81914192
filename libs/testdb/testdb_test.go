package testdb_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

func TestEachCopyHasTheTablesAndNothingOfOthers(t *testing.T) {
	made := 0
	tables := testdb.New("shop", func(ctx context.Context, db *sqldb.DB) error {
		made++
		return exec(ctx, db, "CREATE TABLE items (id TEXT PRIMARY KEY)")
	})
	for engine, url := range map[string]func(testing.TB) string{sqldb.SQLite: tables.SQLite, sqldb.Postgres: tables.Postgres} {
		t.Run(engine, func(t *testing.T) {
			made = 0
			for range 3 {
				db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url(t), Schema: "shop"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := db.Close(); err != nil {
						t.Error(err)
					}
				})
				if err := exec(t.Context(), db, "INSERT INTO items (id) VALUES ('a')"); err != nil {
					t.Error(err)
				}
			}
			if made != 1 {
				t.Errorf("the tables were made %d times", made)
			}
		})
	}
}

func exec(ctx context.Context, db *sqldb.DB, statement string) error {
	return db.Write(ctx, func(tx sqldb.Tx) error {
		_, err := sqldb.Exec(ctx, tx, statement)
		return err
	})
}
