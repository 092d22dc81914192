package windlass_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// exact is a version of an npm package that names one release, and not a range.
var exact = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

// TestS24EveryDependencyIsPinned: what is built and what builds it are the same everywhere. Modules have checksums and come from where
// they say; packages of npm have exact versions, and checksums if they become part of the product. `make check-supply` checks the rest.
func TestS24EveryDependencyIsPinned(t *testing.T) {
	modules := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{".git", ".windlass", "bin", "node_modules", "third_party"}, entry.Name()):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			modules++
			pinnedModule(t, name)
		case entry.Name() == "package.json":
			pinnedPackages(t, name)
		case entry.Name() == "package-lock.json":
			lockedPackages(t, name)
		}
		return nil
	})
	if err != nil || modules < 5 {
		t.Errorf("%d modules, %v", modules, err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func pinnedModule(t *testing.T, name string) {
	t.Helper()
	raw, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Require []struct{ Path string }
		Replace []struct {
			Old, New struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Replace {
		if r.New.Version != "" || !filepath.IsLocal(filepath.Join(filepath.Dir(name), r.New.Path)) {
			t.Errorf("%s: %s is replaced by %s, which is not in this repository", name, r.Old.Path, r.New.Path)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(name), "go.sum")); err != nil && len(f.Require) > 0 {
		t.Errorf("%s has no checksums: %v", name, err)
	}
}

func pinnedPackages(t *testing.T, name string) {
	t.Helper()
	var p struct{ Dependencies, DevDependencies map[string]string }
	if err := json.Unmarshal(read(t, name), &p); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, list := range []map[string]string{p.Dependencies, p.DevDependencies} {
		for _, of := range slices.Sorted(maps.Keys(list)) {
			if !exact.MatchString(list[of]) {
				t.Errorf("%s: %s %s is no exact version", name, of, list[of])
			}
		}
	}
}

func lockedPackages(t *testing.T, name string) {
	t.Helper()
	var p struct {
		Packages map[string]struct {
			Integrity string
			Link      bool
		}
	}
	if err := json.Unmarshal(read(t, name), &p); err != nil || len(p.Packages) == 0 {
		t.Fatalf("%s: %v", name, err)
	}
	for _, of := range slices.Sorted(maps.Keys(p.Packages)) {
		if of != "" && !p.Packages[of].Link && p.Packages[of].Integrity == "" {
			t.Errorf("%s: %s has no checksum", name, of)
		}
	}
}
