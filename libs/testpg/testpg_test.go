package testpg_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

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

// Committed data survives a stop, and a frozen server answers again after Thaw.
func TestOwnServerIsStoppedAndFrozen(t *testing.T) {
	s := testpg.Own(t)
	db := connect(t, s.URL())
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE x AS SELECT 1"); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a stopped server answers")
	}
	s.Start()
	s.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := db.PingContext(ctx); err == nil {
		t.Error("a frozen server answers")
	}
	s.Thaw()
	if _, err := db.ExecContext(t.Context(), "SELECT * FROM x"); err != nil {
		t.Error(err)
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
