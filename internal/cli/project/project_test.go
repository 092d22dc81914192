package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAFolderIsMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "My Agent 2")
	made, err := Create(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"windlass.yaml", "tools.py", "test.sh"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), "my-agent-2") || strings.Contains(string(text), "{{") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if info, err := os.Stat(filepath.Join(dir, "test.sh")); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("the test cannot be run: %v, %v", info, err)
	}
	if len(made) != 3 {
		t.Errorf("made %q", made)
	}
	if err := os.WriteFile(filepath.Join(dir, "tools.py"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, "other"); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("made again: %v", err)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "tools.py")); string(text) != "mine" {
		t.Errorf("overwrote %q", text)
	}
	for _, bad := range []string{"Bad", "1a", "a__b", strings.Repeat("a", 33)} {
		if _, err := Create(filepath.Join(t.TempDir(), "x"), bad); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
	if _, err := Create(filepath.Join(t.TempDir(), "42"), ""); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("a folder without letters: %v", err)
	}
}

func TestChangesAreSeen(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string, age time.Duration) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	put("a.yaml", "a", time.Hour)
	put("lib/tools.py", "b", time.Hour)
	before := Look([]string{dir})
	for _, row := range []struct {
		name, file       string
		changed, program bool
	}{
		{"nothing", "", false, false},
		{"a hidden folder", ".git/index", false, false},
		{"what Python writes", "lib/__pycache__/tools.pyc", false, false},
		{"a bundle", "a.yaml", true, false},
		{"a program", "lib/tools.py", true, true},
		{"a new file", "data.txt", true, true},
	} {
		if row.file != "" {
			put(row.file, "b", 0)
		}
		now := Look([]string{dir})
		if changed, program := now.Changed(before); changed != row.changed || program != row.program {
			t.Errorf("%s: changed %t, program %t", row.name, changed, program)
		}
		before = now
	}
	if err := os.Remove(filepath.Join(dir, "data.txt")); err != nil {
		t.Fatal(err)
	}
	if changed, program := Look([]string{dir}).Changed(before); !changed || !program {
		t.Error("a deleted file is not seen")
	}
}
