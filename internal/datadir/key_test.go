package datadir_test

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/datadir"
	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testwant"
)

// open opens a new directory.
func open(t *testing.T) *datadir.Dir {
	t.Helper()
	d, err := datadir.Open(filepath.Join(t.TempDir(), "state"))
	testwant.Equal(t, "the error of Open", err, nil)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestKeysAreTheirOwn(t *testing.T) {
	d := open(t)
	seen := map[string]string{}
	for _, name := range []string{"mesh.key", "master.key", "seal.key"} {
		key, err := d.Key(name)
		testwant.Equal(t, "the error of "+name, err, nil)
		if other := seen[key.Reveal()]; other != "" {
			t.Errorf("%s is the same as %s", name, other)
		}
		seen[key.Reveal()] = name
		if raw, err := hex.DecodeString(key.Reveal()); err != nil || len(raw) < 32 {
			t.Errorf("%s has %d bytes, %v", name, len(raw), err)
		}
		testwant.Equal(t, "the mode of "+name, testwant.Must(os.Stat(d.Path(name))).Mode().Perm(), 0o600)
	}
	testwant.Equal(t, "the mode of the directory", testwant.Must(os.Stat(d.Path())).Mode().Perm(), 0o700)
}

// TestAKeyThatIsLostIsNotReplaced: what was sealed with it could not be opened, so only an operator decides that.
func TestAKeyThatIsLostIsNotReplaced(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(file string) error
		previous []secret.Value
		err      error
	}{
		{name: "there", change: func(string) error { return nil }},
		{name: "removed", change: os.Remove, err: datadir.ErrKeyMissing},
		{name: "empty", change: func(file string) error { return os.Truncate(file, 0) }, err: datadir.ErrKeyMissing},
		{
			name: "empty, and named as a previous one", change: func(file string) error { return os.Truncate(file, 0) },
			previous: []secret.Value{secret.New("old")},
		},
		{name: "removed, and named as a previous one", change: os.Remove, previous: []secret.Value{secret.New("old")}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := open(t)
			first, err := d.Key("seal.key")
			testwant.Equal(t, "the error of the first start", err, nil)
			testwant.Equal(t, "the error of the change", tc.change(d.Path("seal.key")), nil)
			again, err := d.Key("seal.key", tc.previous...)
			testwant.Equal(t, "the error is as it should be", errors.Is(err, tc.err), true)
			testwant.Equal(t, "it is the same", again.Equal(first), tc.err == nil && tc.previous == nil)
			testwant.Equal(t, "there is none", again.IsZero(), tc.err != nil)
		})
	}
}

func TestAnEmptyFileIsNoKey(t *testing.T) {
	d := open(t)
	if err := os.WriteFile(d.Path("seal.key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := d.Key("seal.key")
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "there is none", key.IsZero(), false)
	testwant.Equal(t, "it is kept", testwant.Must(d.Key("seal.key")).Equal(key), true)
}

func TestAKeyMayBeBroughtAlong(t *testing.T) {
	d := open(t)
	if err := datadir.Write(d.Path("mesh.key"), []byte("a key from elsewhere")); err != nil {
		t.Fatal(err)
	}
	key, err := d.Key("mesh.key")
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "the key", key.Reveal(), "a key from elsewhere")
	testwant.Equal(t, "the error of Remove", os.Remove(d.Path("mesh.key")), nil)
	_, err = d.Key("mesh.key")
	testwant.Equal(t, "once it is lost", errors.Is(err, datadir.ErrKeyMissing), true)
}

func TestADirectoryThatCannotBeUsed(t *testing.T) {
	d := open(t)
	if err := os.Remove(d.Path(dirid.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.Mkdir(d.Path(dirid.Name), 0o700); err != nil { // in place of the list of its files
		t.Fatal(err)
	}
	if key, err := d.Key("mesh.key"); err == nil || !key.IsZero() || !strings.Contains(err.Error(), d.Path()) {
		t.Errorf("a key without the directory's list: %v", err)
	}
	d = open(t)
	if err := os.Mkdir(d.Path("mesh.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	if key, err := d.Key("mesh.key"); err == nil || !key.IsZero() {
		t.Errorf("a key that is a folder: %v", err)
	}
}

func TestPathsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	d, err := datadir.Open("state")
	testwant.Equal(t, "the error", err, nil)
	testwant.Equal(t, "a path is absolute", filepath.IsAbs(d.Path("a", "b")), true)
	testwant.Equal(t, "its end", strings.HasSuffix(d.Path("a", "b"), filepath.Join("state", "a", "b")), true)
	testwant.Equal(t, "the error of Close", d.Close(), nil)
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "close the lock of") {
		t.Errorf("closed twice: %v", err)
	}
}
