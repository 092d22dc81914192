package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// TestSnapshotIsOneMoment: the copy has what was committed, although it is still in the log, the file stays open for writing, and what is
// written later is not in the copy.
func TestSnapshotIsOneMoment(t *testing.T) {
	url := sqliteURL(t)
	db := open(t, url)
	write := func(statement string) {
		t.Helper()
		if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	write("CREATE TABLE things (name TEXT)")
	write("INSERT INTO things VALUES ('before')")
	to := filepath.Join(t.TempDir(), "c ?#%d.db")
	if err := sqldb.Snapshot(t.Context(), strings.TrimPrefix(url, "sqlite:"), to); err != nil {
		t.Fatal(err)
	}
	write("INSERT INTO things VALUES ('after')")
	copied := open(t, "sqlite:"+to)
	got, err := sqldb.All(t.Context(), copied.Reader(), sqldb.Column[string], "SELECT name FROM things")
	if err != nil || len(got) != 1 || got[0] != "before" {
		t.Errorf("the copy has %v, %v", got, err)
	}
}

// asked is a context that calls a function before it says whether it has ended.
type asked struct {
	context.Context
	before func() error
}

func (a asked) Err() error { return a.before() }

// A snapshot of more pages than one step copies has what was committed when it began, whatever others write between the steps, and it can
// be interrupted between them.
func TestSnapshotInSteps(t *testing.T) {
	url := sqliteURL(t)
	db := open(t, url)
	write := func(statement string) error {
		return db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, statement)
			return err
		})
	}
	const rows = 2500 // each fills a page
	if err := errors.Join(write("CREATE TABLE things (name BLOB)"), write(fmt.Sprintf(`INSERT INTO things WITH RECURSIVE n (i) AS
		(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) SELECT zeroblob(4000) FROM n`, rows))); err != nil {
		t.Fatal(err)
	}
	from := strings.TrimPrefix(url, "sqlite:")
	started := func(to string) bool {
		_, err := os.Stat(to)
		return err == nil
	}

	to, writes := filepath.Join(t.TempDir(), "c.db"), 0
	if err := sqldb.Snapshot(asked{t.Context(), func() error {
		if !started(to) {
			return nil
		}
		if writes++; writes > 9 {
			return errors.New("it began again")
		}
		return write("INSERT INTO things VALUES ('after')")
	}}, from, to); err != nil || writes < 2 {
		t.Fatalf("%d writes meanwhile, %v", writes, err)
	}
	n, err := sqldb.One(t.Context(), open(t, "sqlite:"+to).Reader(), sqldb.Column[int], "SELECT count(*) FROM things")
	if err != nil || n != rows {
		t.Errorf("the copy has %d rows, %v", n, err)
	}

	interrupted := filepath.Join(t.TempDir(), "c.db")
	if err := sqldb.Snapshot(asked{t.Context(), func() error {
		if started(interrupted) {
			return context.Canceled
		}
		return nil
	}}, from, interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted snapshot: %v", err)
	}
}

func TestSnapshotOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := sqldb.Snapshot(t.Context(), filepath.Join(dir, "none", "x.db"), filepath.Join(dir, "y.db")); err == nil {
		t.Error("a file that is not there was copied")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sqldb.Snapshot(ended, filepath.Join(dir, "x.db"), filepath.Join(dir, "y.db")); err == nil {
		t.Error("a snapshot was made after its context had ended")
	}
}
