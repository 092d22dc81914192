package notebook_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/examples/notes/notebook"
)

func open(t *testing.T, dir string) *notebook.Book {
	t.Helper()
	book, err := notebook.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	return book
}

func TestCreateRefuses(t *testing.T) {
	book := open(t, t.TempDir())
	for _, tt := range []struct {
		name, title, text string
		tags              []string
		want              string
	}{
		{"no title", "  ", "x", nil, "needs a title"},
		{"a long title", strings.Repeat("ä", 201), "x", nil, "more than 200 characters"},
		{"a long text", "t", strings.Repeat("x", 256<<10+1), nil, "more than 262144 bytes"},
		{"many tags", "t", "x", strings.Split("abcdefghijklmnopqrstu", ""), "more than 20 tags"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := book.Create(tt.title, tt.text, tt.tags); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
	if notes, err := book.All(); err != nil || len(notes) != 0 {
		t.Errorf("%d notes after refusals, %v", len(notes), err)
	}
}

func TestIDsCannotLeaveTheDirectory(t *testing.T) {
	parent := t.TempDir()
	outside := filepath.Join(parent, "secret.json")
	if err := os.WriteFile(outside, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	book := open(t, filepath.Join(parent, "notes"))
	for _, id := range []string{"../secret", "", ".", "note_../../secret", outside} {
		if _, err := book.Read(id); !errors.Is(err, notebook.ErrNotFound) {
			t.Errorf("read %q: %v", id, err)
		}
		if deleted, err := book.Delete(id); deleted || err != nil {
			t.Errorf("delete %q: %t, %v", id, deleted, err)
		}
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}

func TestUnfinishedWritesAreNotNotes(t *testing.T) {
	dir := t.TempDir()
	book := open(t, dir)
	note, err := book.Create("kept", "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	// What a crash in the middle of a write leaves behind.
	unfinished := strings.Replace(note.ID, note.ID[5:8], "zzz", 1) + ".tmp"
	if err := os.WriteFile(filepath.Join(dir, unfinished), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	notes, err := book.All()
	if err != nil || len(notes) != 1 || notes[0].ID != note.ID {
		t.Errorf("%+v, %v", notes, err)
	}
}

func TestCheck(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notes")
	book := open(t, dir)
	if err := book.Check(); err != nil {
		t.Errorf("healthy directory: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := book.Check(); err == nil {
		t.Error("no error for a directory that is gone")
	}
}
