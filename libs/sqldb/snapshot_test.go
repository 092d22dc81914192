package sqldb_test

import (
	"context"
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
