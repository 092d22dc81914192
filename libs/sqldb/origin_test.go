package sqldb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// openIn opens a service's file in a directory of an identity.
func openIn(t *testing.T, dir, service string, origin *sqldb.Origin) (id string, err error) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(dir, service+".db"), Schema: service, Origin: origin})
	if err != nil {
		return "", err
	}
	id = db.OriginID()
	if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
		t.Error(err)
	}
	return id, db.Close()
}

// TestAFileThatIsNotTheDirectorysIsRefused loses, empties, damages and exchanges files of a data directory.
func TestAFileThatIsNotTheDirectorysIsRefused(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(t *testing.T, file, other string) error
		want   error
	}{
		{name: "it is the one", change: func(*testing.T, string, string) error { return nil }},
		{name: "missing", change: func(_ *testing.T, file, _ string) error { return os.Remove(file) }, want: sqldb.ErrMissing},
		{name: "empty", change: func(_ *testing.T, file, _ string) error { return os.Truncate(file, 0) }, want: sqldb.ErrMissing},
		{name: "an empty database", change: func(t *testing.T, file, _ string) error {
			db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + file + ".new", Schema: "shop"})
			return errors.Join(err, db.Close(), os.Rename(file+".new", file))
		}, want: sqldb.ErrMissing},
		{name: "another service's", change: func(_ *testing.T, file, _ string) error {
			return os.Rename(filepath.Join(filepath.Dir(file), "store.db"), file)
		}, want: sqldb.ErrForeign},
		{
			name: "another directory's", change: func(_ *testing.T, file, other string) error { return os.Rename(other, file) },
			want: sqldb.ErrForeign,
		},
		{name: "another program's", change: func(t *testing.T, file, _ string) error {
			db := migrated(t, "sqlite:"+file+".new")
			err := db.Write(t.Context(), func(tx sqldb.Tx) error {
				_, err := tx.ExecContext(t.Context(), "DROP TABLE goose_shop")
				return err
			})
			return errors.Join(err, db.Close(), os.Rename(file+".new", file))
		}, want: sqldb.ErrForeign},
		{name: "damaged", change: func(_ *testing.T, file, _ string) error {
			return os.WriteFile(file, []byte(strings.Repeat("garbage ", 2048)), 0o600)
		}, want: sqldb.ErrDamaged},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir, elsewhere := t.TempDir(), t.TempDir()
			id, err := openIn(t, dir, "shop", &sqldb.Origin{})
			if err != nil || id == "" {
				t.Fatalf("a new directory: %q, %v", id, err)
			}
			if same, err := openIn(t, dir, "store", &sqldb.Origin{ID: id}); err != nil || same != id {
				t.Fatalf("a second file: %q, %v", same, err)
			}
			if _, err := openIn(t, elsewhere, "shop", &sqldb.Origin{}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "shop.db")
			if err := row.change(t, file, filepath.Join(elsewhere, "shop.db")); err != nil {
				t.Fatal(err)
			}
			_, err = openIn(t, dir, "shop", &sqldb.Origin{ID: id, Required: true})
			if !errors.Is(err, row.want) {
				t.Fatalf("Open = %v, want %v", err, row.want)
			}
			if row.want != nil && (!strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "restore")) {
				t.Errorf("the error does not say which file, and what to do: %v", err)
			}
		})
	}
}

// TestAFileOfAnEarlierVersionGetsAnIdentity: it has tables and no identity.
func TestAFileOfAnEarlierVersionGetsAnIdentity(t *testing.T) {
	dir := t.TempDir()
	if _, err := openIn(t, dir, "shop", nil); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if id, err := openIn(t, dir, "shop", &sqldb.Origin{ID: "this"}); err != nil || id != "this" {
			t.Errorf("identity %q, %v", id, err)
		}
	}
}
