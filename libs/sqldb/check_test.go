package sqldb_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func TestCheck(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		for range 2 {
			if err := db.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestCheckLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	db := migrated(t, "sqlite:"+filepath.Join(dir, "w.db"))
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadDir(dir)
	if err != nil || len(after) != len(before) {
		t.Errorf("%v, %v; before %v", after, err, before)
	}
}

func TestCheckOfADirectoryThatCannotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	db := migrated(t, "sqlite:"+filepath.Join(dir, "w.db"))
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	if err := db.Check(t.Context()); !errors.Is(err, sqldb.ErrReadOnly) {
		t.Errorf("Check = %v", err)
	}
}
