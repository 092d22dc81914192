package backup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/dirid"
)

// A note may be deleted between the list and its copy; a key may not.
func TestAFileThatIsGoneIsLeftOut(t *testing.T) {
	for kind, want := range map[string]error{Other: nil, Key: os.ErrNotExist} {
		var m Manifest
		err := m.stage(t.Context(), t.TempDir(), t.TempDir(), File{Name: "notes/a", Kind: kind})
		if !errors.Is(err, want) || len(m.Files) > 0 {
			t.Errorf("%s: %v, files %v", kind, err, m.Files)
		}
	}
}

func TestAListThatCannotBeRestoredIsRefused(t *testing.T) {
	var m Manifest
	for i := range 1000 {
		m.Files = append(m.Files, File{Name: fmt.Sprint(i, strings.Repeat("x", maxManifest/1000))})
	}
	file := filepath.Join(t.TempDir(), "archive")
	if err := m.pack(t.Context(), t.TempDir(), file); err == nil || !strings.Contains(err.Error(), "the list of 1000 files") {
		t.Errorf("error %v", err)
	}
}

// If a restore ends between two moves, a start finds an identity that names databases which are not there, and refuses.
func TestTheIdentityIsFirstAndDatabasesLast(t *testing.T) {
	stage, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.db", "b.key", dirid.Name, "z.db"} {
		if err := os.WriteFile(filepath.Join(stage, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	order := []string{"z.db", "b.key", "a.db", dirid.Name}
	slices.SortStableFunc(order, func(a, b string) int { return turnOf(a) - turnOf(b) })
	if got := strings.Join(order, " "); got != "identity b.key z.db a.db" {
		t.Errorf("order %s", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "z.db", "x"), 0o700); err != nil { // in the way of the last move
		t.Fatal(err)
	}
	if err := (target{dir: dir, exists: true}).take(stage); err == nil {
		t.Error("it was taken")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("after the failure there are %v, %v", left, err)
	}
}
