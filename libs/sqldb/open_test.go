package sqldb_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

func TestBadConfig(t *testing.T) {
	for _, tc := range []struct{ name, url, schema, want string }{
		{"no URL", "", "s", "no URL"},
		{"unknown scheme", "mysql://root:hunter2@h/db", "s", `unknown scheme "mysql"`},
		{"schema that needs quotes", "sqlite:x", `a"b`, "schema"},
		{"no schema", "sqlite:x", "", "schema"},
		{"malformed Postgres URL", "postgres://u:hunter2@[::1/db", "s", "open database"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := sqldb.Open(t.Context(), sqldb.Config{URL: tc.url, Schema: tc.schema})
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Open = %v", err)
			}
		})
	}
}

func TestPostgresAway(t *testing.T) {
	_, err := sqldb.Open(t.Context(), sqldb.Config{URL: "postgres://u:hunter2@127.0.0.1:1/db", Schema: "s"})
	if !errors.Is(err, sqldb.ErrUnavailable) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Open = %v, want ErrUnavailable", err)
	}
}

func TestMigrateTwice(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
			t.Error(err)
		}
		if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "INSERT INTO log (text) VALUES ('one'), ('two')")
			return err
		}); err != nil {
			t.Error(err)
		}
		if n, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[int64], "SELECT max(seq) FROM log"); err != nil || n != 2 {
			t.Errorf("max(seq) = %d, %v", n, err)
		}
	})
}

func TestBrokenMigrationLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		view, err := db.View(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := view.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := view.Migrate(t.Context(), files, "testdata/broken"); err == nil {
			t.Fatal("the broken migration succeeded")
		}
		whole := fstest.MapFS{"m/001_half.sql": {Data: []byte("-- +goose Up\nCREATE TABLE half (id TEXT);\n")}}
		if err := view.Migrate(t.Context(), whole, "m"); err != nil {
			t.Errorf("after the broken one: %v", err)
		}
	})
}

// Services that start concurrently in several processes do not disturb each other's migrations.
func TestConcurrentMigrationsOnPostgres(t *testing.T) {
	url := testpg.URL(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "shop"})
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(db.Migrate(t.Context(), files, "testdata/migrations"), db.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestSchemasAreApartOnPostgres(t *testing.T) {
	db := migrated(t, testpg.URL(t))
	view, err := db.View(t.Context(), "desk")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := view.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := view.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
		t.Fatal(err)
	}
	if err := insert(t.Context(), view, "a"); err != nil {
		t.Fatal(err)
	}
	if count(t, db, "items") != 0 || count(t, view, "items") != 1 {
		t.Error("the schemas share a table")
	}
}

func TestFileBelongsToOneOpener(t *testing.T) {
	url := sqliteURL(t)
	db := migrated(t, url)
	if _, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "shop"}); !errors.Is(err, sqldb.ErrInUse) {
		t.Fatalf("second Open = %v, want ErrInUse", err)
	}
	if err := insert(t.Context(), db, "a"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, url)
	if count(t, again, "items") != 1 {
		t.Error("the row is gone")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(strings.TrimPrefix(url, "sqlite:")), "*"))
	if err != nil || len(left) == 0 {
		t.Errorf("files = %v, %v", left, err)
	}
}

func TestFilesAreForTheOwnerOnly(t *testing.T) {
	url := sqliteURL(t)
	_ = migrated(t, url)
	path := strings.TrimPrefix(url, "sqlite:")
	for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600, path + "-wal": 0o600} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

// Root can write anywhere, so as root the test runs itself again as nobody.
func TestReadOnlyDirectory(t *testing.T) {
	if dir := os.Getenv("SQLDB_TEST_DIR"); dir != "" {
		_, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + dir + "/w.db", Schema: "s"})
		if !errors.Is(err, sqldb.ErrReadOnly) || !strings.Contains(err.Error(), "permission") {
			t.Errorf("Open = %v, want ErrReadOnly", err)
		}
		return
	}
	dir, err := os.MkdirTemp("", "sqldb") //nolint:usetesting // nobody may not enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	bin := filepath.Join(dir, "test.bin")
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(bin, self, 0o755), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run=^TestReadOnlyDirectory$")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "SQLDB_TEST_DIR="+dir)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestDiskFull(t *testing.T) {
	db := migrated(t, sqliteURL(t))
	err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		if _, err := tx.ExecContext(t.Context(), "PRAGMA max_page_count = 30"); err != nil {
			return err
		}
		_, err := tx.ExecContext(t.Context(), "INSERT INTO items (id, raw) VALUES ('big', zeroblob(1000000))")
		return err
	})
	if !errors.Is(err, sqldb.ErrDiskFull) {
		t.Errorf("Write = %v, want ErrDiskFull", err)
	}
	if n := count(t, db, "items"); n != 0 {
		t.Errorf("%d rows", n)
	}
}
