package wal_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/windlass-dev/windlass/bench/wal"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestCommitsAreCountedInTheLog(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "one.db")+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	exec := func(text string) {
		t.Helper()
		if _, err := db.Exec(text); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE TABLE t (n INTEGER)")
	first, later := map[string]wal.Sum{}, map[string]wal.Sum{}
	c, err := wal.Watch(dir)
	if err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO t VALUES (1)")
	exec("BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (3); COMMIT")
	if err := c.Count(first); err != nil {
		t.Fatal(err)
	}
	exec("PRAGMA wal_checkpoint(TRUNCATE)")
	if err := c.Count(later); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO t VALUES (4)") // in another log
	if err := c.Count(later); err != nil {
		t.Fatal(err)
	}
	if got := first["one"].Commits; got != 2 {
		t.Errorf("%d commits before the checkpoint, want 2", got)
	}
	if got := later["one"].Commits; got != 1 {
		t.Errorf("%d commits after it, want 1", got)
	}
}
