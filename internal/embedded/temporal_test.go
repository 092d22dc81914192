package embedded

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// directory is a data directory as the services leave it, in which Temporal was started once.
func directory(t *testing.T) *datadir.Dir {
	t.Helper()
	dir, err := datadir.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	if err := claimed(t.Context(), dir, func() error { return serve(t, dir) }); err != nil {
		t.Fatal(err)
	}
	d, err := dirid.Open(dir.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Add("policy.db", "id of "+dir.Path()), d.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// serve writes a database as the server does that has none.
func serve(t *testing.T, dir *datadir.Dir) error {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+dir.Path(temporalFile))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS windlass_stamp (schema TEXT NOT NULL, server TEXT NOT NULL)")
	return errors.Join(err, db.Close())
}

// TestTemporalsDatabaseIsThatOfTheDirectory: a lost file is not created again, and one of another directory is not taken.
func TestTemporalsDatabaseIsThatOfTheDirectory(t *testing.T) {
	dir, other := directory(t), directory(t)
	start := func(dir *datadir.Dir) error {
		return claimed(t.Context(), dir, func() error { return serve(t, dir) })
	}
	if err := errors.Join(start(dir), start(other), start(dir)); err != nil {
		t.Fatal(err)
	}
	file := dir.Path(temporalFile)
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"lost":  func() error { return os.Remove(file) },
		"empty": func() error { return os.WriteFile(file, nil, 0o600) },
	} {
		err := errors.Join(change(), start(dir))
		if !errors.Is(err, sqldb.ErrMissing) || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "remove its line") {
			t.Errorf("%s: %v", name, err)
		}
	}
	foreign, err := os.ReadFile(other.Path(temporalFile))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(file, foreign, 0o600), start(dir))
	if !errors.Is(err, sqldb.ErrForeign) || !strings.Contains(err.Error(), file) {
		t.Errorf("of another directory: %v", err)
	}
	if err := errors.Join(os.WriteFile(file, kept, 0o600), start(dir)); err != nil {
		t.Errorf("restored: %v", err)
	}
	list := filepath.Join(dir.Path(), dirid.Name)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	text = []byte(strings.Replace(string(text), temporalFile+"\n", "", 1))
	if err := errors.Join(os.WriteFile(list, text, 0o600), os.Remove(file), start(dir)); err != nil {
		t.Errorf("an empty one, as the error says: %v", err)
	}
}
