package dirid_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/dirid"
	"github.com/windlass-dev/windlass/libs/testwant"
)

func open(t *testing.T, path string) *dirid.Dir {
	t.Helper()
	d, err := dirid.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestADirectoryRemembersItsFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	d := open(t, path)
	for _, add := range [][2]string{{"mesh.key", ""}, {"sessions.db", "one"}, {"policy.db", "two"}, {"policy.db", "one"}} {
		if err := d.Add(add[0], add[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, path)
	testwant.Equal(t, "it remembers: ID", again.ID, "one")
	testwant.Equal(t, `it remembers: Has("mesh.key")`, again.Has("mesh.key"), true)
	testwant.Equal(t, `it remembers: Has("sessions.db")`, again.Has("sessions.db"), true)
	testwant.Equal(t, `it remembers: Has("policy.db")`, again.Has("policy.db"), true)
	testwant.Equal(t, `it remembers: Has("registry.db")`, again.Has("registry.db"), false)
}

func TestADamagedIdentityIsNamed(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, dirid.Name), []byte("\x00\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dirid.Open(path); err == nil || !strings.Contains(err.Error(), dirid.Name) || !strings.Contains(err.Error(), "backup") {
		t.Errorf("Open = %v, want the file's name and what to do", err)
	}
}
