package main

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite"
)

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
	c, err := watchCommits(dir)
	if err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO t VALUES (1)")
	exec("BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (3); COMMIT")
	if err := c.count(c.awaited); err != nil {
		t.Fatal(err)
	}
	exec("PRAGMA wal_checkpoint(TRUNCATE)")
	if err := c.count(c.later); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO t VALUES (4)") // in another log
	if err := c.count(c.later); err != nil {
		t.Fatal(err)
	}
	if got := c.awaited["one"].commits; got != 2 {
		t.Errorf("%d commits before the checkpoint, want 2", got)
	}
	if got := c.later["one"].commits; got != 1 {
		t.Errorf("%d commits after it, want 1", got)
	}
}
