package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/backup"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// dataDir makes a data directory with a database that is open, and returns its path.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for name, content := range map[string]string{
		"identity": "windlass data directory X\n", "identity.lock": "", "lock": "", "mesh.key": "secret of the mesh", "access.token": "token",
		"access.address": "127.0.0.1:1", "issuer/accounts.json": "{}", "issuer/signing.pem": "private", "bus/x.blk": "deltas",
		"temporal/ca.pem": "ca", "issuer/logins.json": "logins", "sessions.db.lock": "", "issuer/logins.json.new": "half",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"registry", "sessions"} {
		db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(dir, name+".db"), Schema: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		if err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "CREATE TABLE rows_of_"+name+" (id TEXT)")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func write(t *testing.T, o backup.Options) backup.Manifest {
	t.Helper()
	m, err := backup.Write(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func names(files []backup.File) string {
	var all []string
	for _, f := range files {
		all = append(all, f.Name)
	}
	return strings.Join(all, " ")
}

func nothing(context.Context, string, backup.Manifest) error { return nil }

func TestABackupIsRestored(t *testing.T) {
	dir := dataDir(t)
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m := write(t, backup.Options{DataDir: dir, File: file, Windlass: "v1"})
	if got := names(m.Files); got != "sessions.db registry.db identity issuer/logins.json" {
		t.Errorf("files %s", got)
	}
	if got := names(m.LeftOut); got != "access.token issuer/accounts.json issuer/signing.pem mesh.key" || m.LeftOut[3].Fingerprint == "" {
		t.Errorf("left out %s", got)
	}
	raw, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(raw), "secret of the mesh") {
		t.Errorf("the archive: %v", err)
	}
	to := filepath.Join(t.TempDir(), "new", "data")
	prepared := false
	got, err := backup.Restore(t.Context(), file, to, func(ctx context.Context, stage string, m backup.Manifest) error {
		_, gone := os.Stat(to)
		prepared = errors.Is(gone, os.ErrNotExist) && m.Has("sessions.db")
		db, err := sqldb.Open(ctx, sqldb.Config{URL: "sqlite:" + filepath.Join(stage, "sessions.db"), Schema: "sessions"})
		if err != nil {
			return err
		}
		_, err = sqldb.One(ctx, db.Reader(), sqldb.Column[int], "SELECT count(*) FROM rows_of_sessions")
		return errors.Join(err, db.Close())
	})
	if err != nil || !prepared || got.Windlass != "v1" || got.DataDir != dir || !got.CreateTime.Equal(m.CreateTime) {
		t.Errorf("restored %+v, prepared %v, %v", got, prepared, err)
	}
	if raw, err := os.ReadFile(filepath.Join(to, "issuer", "logins.json")); err != nil || string(raw) != "logins" {
		t.Errorf("logins %q, %v", raw, err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 1 {
		t.Errorf("beside the directory: %v, %v", left, err)
	}
}

func TestKeysAreIncludedOnRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m := write(t, backup.Options{DataDir: dataDir(t), File: file, WithKeys: true})
	if len(m.LeftOut) != 0 || !m.Has("mesh.key") || !m.Has("issuer/signing.pem") || !m.Has("issuer/accounts.json") {
		t.Errorf("manifest %+v", m)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the keys: %v, %v", info.Mode(), err)
	}
}

// Rules by name are those of the product's own files: a tool server may have files with the same names in a folder of its own.
func TestFilesOfOtherProgramsAreFiles(t *testing.T) {
	dir := dataDir(t)
	for name, content := range map[string]string{
		"x/a.pem": "certificate", "x/a.lock": "versions", "x/a.db": "no database", "x/a.db-wal": "no log", "x/lock": "", "x/bus/a": "bus",
		"x/a.tmp": "half", "a/b": "one", "a-b": "two",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(dir, "y", "own.db"), Schema: "own"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m := write(t, backup.Options{DataDir: dir, File: file})
	want := "sessions.db y/own.db registry.db a/b a-b identity issuer/logins.json " +
		"x/a.db x/a.db-wal x/a.lock x/a.pem x/bus/a x/lock y/own.db.lock"
	if got := names(m.Files); got != want {
		t.Errorf("files %s", got)
	}
	to := filepath.Join(t.TempDir(), "data")
	if _, err := backup.Restore(t.Context(), file, to, nothing); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a/b": "one", "a-b": "two", "x/a.db": "no database"} {
		if raw, err := os.ReadFile(filepath.Join(to, filepath.FromSlash(name))); err != nil || string(raw) != want {
			t.Errorf("%s: %q, %v", name, raw, err)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	dir := dataDir(t)
	exists := filepath.Join(t.TempDir(), "b.tar.gz")
	write(t, backup.Options{DataDir: dir, File: exists})
	for _, tc := range []struct{ name, dir, file, err string }{
		{"a file that exists", dir, exists, "exists already"},
		{"a file in the data directory", dir, filepath.Join(dir, "b.tar.gz"), "inside the data directory"},
		{"what is no data directory", t.TempDir(), filepath.Join(t.TempDir(), "b.tar.gz"), "no data directory"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := backup.Write(t.Context(), backup.Options{DataDir: tc.dir, File: tc.file})
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestRestoreRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	write(t, backup.Options{DataDir: dataDir(t), File: file})
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	damaged := func(name string, change func([]byte) []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, change(append([]byte(nil), whole...)), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	failing := errors.New("cannot be prepared")
	for _, tc := range []struct {
		name, file, dir string
		prepare         error
		want            error
		text            string
	}{
		{name: "a directory with files", file: file, dir: full, text: "is not empty"},
		{name: "a file that is cut off", file: damaged("cut", func(b []byte) []byte { return b[:len(b)-20] }), want: backup.ErrDamaged},
		{name: "half a file", file: damaged("half", func(b []byte) []byte { return b[:len(b)/2] }), want: backup.ErrDamaged},
		{
			name: "a file that was changed", file: damaged("changed", func(b []byte) []byte { b[len(b)/2] ^= 1; return b }),
			want: backup.ErrDamaged,
		},
		{name: "another file", file: damaged("other", func([]byte) []byte { return []byte("hello") }), want: backup.ErrDamaged},
		{name: "databases that cannot be prepared", file: file, prepare: failing, want: failing},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tc.dir
			if dir == "" {
				dir = filepath.Join(t.TempDir(), "data")
			}
			_, err := backup.Restore(t.Context(), tc.file, dir, func(context.Context, string, backup.Manifest) error { return tc.prepare })
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("error %v, want %v %q", err, tc.want, tc.text)
			}
			if _, gone := os.Stat(dir); tc.dir == "" && !errors.Is(gone, os.ErrNotExist) {
				t.Errorf("a directory is left: %v", gone)
			}
		})
	}
}

// entries lists a directory.
func entries(t *testing.T, dir string) string {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range all {
		list = append(list, e.Name())
	}
	return strings.Join(list, " ")
}

// A directory that exists stays the same one: it may be a mount point, or in a folder that its user cannot write, or be reached by a link.
func TestAnEmptyDirectoryIsFilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	write(t, backup.Options{DataDir: dataDir(t), File: file})
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(dir, link), os.Mkdir(filepath.Join(dir, "lost+found"), 0o700)); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	failing := errors.New("killed")
	_, err = backup.Restore(t.Context(), file, link, func(_ context.Context, stage string, _ backup.Manifest) error {
		if filepath.Dir(stage) != dir {
			t.Errorf("the stage is %s", stage)
		}
		return failing
	})
	if got := entries(t, dir); !errors.Is(err, failing) || got != "lost+found" {
		t.Errorf("after a failure it has %s, %v", got, err)
	}
	if _, err = backup.Restore(t.Context(), file, link, nothing); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); got != "identity issuer lost+found registry.db sessions.db" {
		t.Errorf("it has %s", got)
	}
	if after, err := os.Stat(link); err != nil || !os.SameFile(before, after) {
		t.Errorf("the directory was replaced, %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode().Type() != os.ModeSymlink {
		t.Errorf("the link was replaced, %v", err)
	}
}

func TestAnInterruptedRestoreIsNamed(t *testing.T) {
	file, dir := filepath.Join(t.TempDir(), "b.tar.gz"), t.TempDir()
	write(t, backup.Options{DataDir: dataDir(t), File: file})
	left := filepath.Join(dir, ".windlass-restore-1")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), file, dir, nothing); err == nil || !strings.Contains(err.Error(), left+" was left") {
		t.Errorf("error %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(dir, "none"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(t.Context(), file, link, nothing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("to a link to nothing: %v", err)
	}
}
