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
		"temporal/ca.pem": "ca",
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
	if got := names(m.Files); got != "sessions.db registry.db identity issuer/accounts.json" {
		t.Errorf("files %s", got)
	}
	if got := names(m.LeftOut); got != "access.token issuer/signing.pem mesh.key" || m.LeftOut[2].Fingerprint == "" {
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
	if err != nil || !prepared || got.Windlass != "v1" || !got.CreateTime.Equal(m.CreateTime) {
		t.Errorf("restored %+v, prepared %v, %v", got, prepared, err)
	}
	if raw, err := os.ReadFile(filepath.Join(to, "issuer", "accounts.json")); err != nil || string(raw) != "{}" {
		t.Errorf("accounts %q, %v", raw, err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 1 {
		t.Errorf("beside the directory: %v, %v", left, err)
	}
}

func TestKeysAreIncludedOnRequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "b.tar.gz")
	m := write(t, backup.Options{DataDir: dataDir(t), File: file, WithKeys: true})
	if len(m.LeftOut) != 0 || !m.Has("mesh.key") || !m.Has("issuer/signing.pem") {
		t.Errorf("manifest %+v", m)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others can read the keys: %v, %v", info.Mode(), err)
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
		{name: "a file that was changed", file: damaged("changed", func(b []byte) []byte { b[len(b)/2] ^= 1; return b })},
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
	if _, err := backup.Restore(t.Context(), file, t.TempDir(), nothing); err != nil {
		t.Errorf("to an empty directory: %v", err)
	}
}
