package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/internal/datadir"
)

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	d, err := datadir.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Open(path); !errors.Is(err, datadir.ErrInUse) || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("second Open = %v, want ErrInUse with what to do", err)
	}
	key, err := d.Key("mesh.key")
	if err != nil || len(key.Reveal()) < 32 {
		t.Fatalf("Key = %d characters, %v", len(key.Reveal()), err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := datadir.Open(path)
	if err != nil {
		t.Fatalf("Open after Close = %v", err)
	}
	if same, err := again.Key("mesh.key"); err != nil || !same.Equal(key) {
		t.Errorf("the key changed, %v", err)
	}
	if err := os.Remove(again.Path("mesh.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Key("mesh.key"); !errors.Is(err, datadir.ErrKeyMissing) || !strings.Contains(err.Error(), "mesh.key") {
		t.Errorf("a key that was lost: %v, want it to be named, not created again", err)
	}
	if fresh, err := again.Key("mesh.key", key); err != nil || fresh.Equal(key) || fresh.IsZero() {
		t.Errorf("a key that is replaced: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestNotADirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := datadir.Open(filepath.Join(file, "x")); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("Open below a file = %v, want it to say what to do", err)
	}
}
