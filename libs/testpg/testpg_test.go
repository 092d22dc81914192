package testpg_test

import (
	"database/sql"
	"testing"

	"go.uber.org/goleak"

	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(testpg.Main{M: m}) }

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	first, second := connect(t, testpg.URL(t)), connect(t, testpg.URL(t))
	if _, err := first.ExecContext(t.Context(), "CREATE TABLE x (id TEXT)"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.ExecContext(t.Context(), "SELECT * FROM x"); err == nil {
		t.Error("the second database has the first one's table")
	}
}

func TestDatabaseIsDroppedAfterItsTest(t *testing.T) {
	var url string
	if !t.Run("inner", func(t *testing.T) { url = testpg.URL(t) }) || url == "" {
		t.Skip("no PostgreSQL")
	}
	if err := connect(t, url).PingContext(t.Context()); err == nil {
		t.Error("the database is still there")
	}
}

func connect(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
