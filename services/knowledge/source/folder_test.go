package source_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/source/docs"
	"github.com/windlass-dev/windlass/services/knowledge/source/folder"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// write writes files, which are as old as an hour.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600),
			os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "A", "sub/b.md": "B", ".git/config": "no", "sub/.hidden": "no", "é.txt": "E"})
	kind, spec := folder.Kind{Allowed: []string{dir}, MaxBytes: maxBytes}, store.SourceSpec{Kind: "folder", Folder: dir}
	first := read(t, kind, spec, newVisitor())
	if got := slices.Sorted(maps.Keys(first.found)); !slices.Equal(got, []string{"a.md", "sub/b.md", "é.txt"}) || first.total != 3 {
		t.Errorf("found %q of %d, failed %q", got, first.total, first.failed)
	}
	if second := read(t, kind, spec, first.next()); len(second.found) != 0 || len(second.same) != 3 {
		t.Errorf("the second time %+v", second)
	}
	write(t, dir, map[string]string{"a.md": "AA"})
	if err := os.Remove(filepath.Join(dir, "sub", "b.md")); err != nil {
		t.Fatal(err)
	}
	third := read(t, kind, spec, first.next())
	if len(third.found) != 1 || string(third.found["a.md"].Data) != "AA" || len(third.same) != 1 {
		t.Errorf("the third time %+v", third)
	}
	below := read(t, kind, store.SourceSpec{Kind: "folder", Folder: dir + "/sub/../sub"}, newVisitor())
	if len(below.found) != 0 {
		t.Errorf("below it %+v", below)
	}
}

// TestAFileThatJustChangedIsReadAgain: within one tick of the clock of a file system, a file can change without another time.
func TestAFileThatJustChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	kind, spec := folder.Kind{Allowed: []string{dir}, MaxBytes: maxBytes}, store.SourceSpec{Kind: "folder", Folder: dir}
	if item := read(t, kind, spec, newVisitor()).found["a.md"]; item.Validator != "" {
		t.Errorf("validator %q", item.Validator)
	}
}

func TestHostileFolders(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"secret.md": "secret", "sub/secret.md": "secret"})
	write(t, dir, map[string]string{"a.md": "A", "large.md": strings.Repeat("x", maxBytes+1), "line\nbreak.md": "x", "not-utf8-\xff.md": "x"})
	if err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret.md"), filepath.Join(dir, "file.md")),
		os.Symlink(outside, filepath.Join(dir, "folder")),
		os.Symlink("a.md", filepath.Join(dir, "inner.md")),
		os.Symlink("loop", filepath.Join(dir, "loop")),
		syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	kind, spec := folder.Kind{Allowed: []string{dir}, MaxBytes: maxBytes}, store.SourceSpec{Kind: "folder", Folder: dir}
	v := read(t, kind, spec, newVisitor())
	if got := slices.Sorted(maps.Keys(v.found)); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("found %q", got)
	}
	for key, want := range map[string]string{
		"file.md": "symbolic link", "folder": "symbolic link", "inner.md": "symbolic link", "loop": "symbolic link", "pipe.md": "no regular file",
		"large.md": "more than 4096 bytes", "line\nbreak.md": "control character", "not-utf8-\ufffd.md": "not UTF-8",
	} {
		if !strings.Contains(v.failed[key], want) {
			t.Errorf("%q: %q, want %q", key, v.failed[key], want)
		}
	}
	// A folder that is a link out of the allowed one.
	unreadable(t, kind, store.SourceSpec{Kind: "folder", Folder: filepath.Join(dir, "folder")}, "the folder cannot be read")
	unreadable(t, kind, store.SourceSpec{Kind: "folder", Folder: filepath.Join(dir, "none")}, "no such file")
	unreadable(t, kind, store.SourceSpec{Kind: "folder", Folder: filepath.Join(dir, "a.md")}, "the folder cannot be read")
	// One that is allowed no longer.
	unreadable(t, folder.Kind{Allowed: []string{outside}}, spec, "knowledge.folders")
}

func TestFoldersThatSourcesMayName(t *testing.T) {
	t.Parallel()
	kind := folder.Kind{Allowed: []string{"/srv/docs/", "/home/a b"}}
	for dir, good := range map[string]bool{
		"/srv/docs": true, "/srv/docs/x": true, "/srv/docs/../docs/x": true, "/home/a b/c": true, "/srv": false, "/": false, "": false,
		"/srv/docs/..": false, "/srv/docs/../../etc": false, "/srv/docsx": false, "srv/docs": false, "/srv/docs/\x00": false,
	} {
		if err := kind.Check(store.SourceSpec{Kind: "folder", Folder: dir}); (err == nil) != good {
			t.Errorf("%q: %v", dir, err)
		}
	}
	err := (folder.Kind{}).Check(store.SourceSpec{Kind: "folder", Folder: "/srv"})
	if err == nil || !strings.Contains(err.Error(), "knowledge.folders is empty") {
		t.Errorf("without allowed folders: %v", err)
	}
}

func TestDocs(t *testing.T) {
	t.Parallel()
	kind := docs.Kind{Files: fstest.MapFS{"how-to/a.md": {Data: []byte("A")}, "how-to/a.png": {Data: []byte("no")}}}
	v := read(t, kind, store.SourceSpec{Kind: "docs"}, newVisitor())
	if len(v.found) != 1 || v.found["how-to/a.md"].Name != "docs/how-to/a.md" {
		t.Errorf("found %+v", v.found)
	}
	if err := kind.Check(store.SourceSpec{Kind: "docs", URL: "https://example.com"}); err == nil {
		t.Error("docs with an address were accepted")
	}
}
