package archive_test

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/internal/release/archive"
)

// built is a folder of programs as `make dist` leaves it.
func built(t *testing.T) archive.Release {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"windlass/linux_amd64/windlass": 0o755, "windlass/linux_amd64/windlass-temporal": 0o711, "windlass/linux_amd64/examples/notes": 0o700,
		"windlass/linux_amd64/sbom-windlass.cdx.json": 0o600, "windlass/windows_arm64/windlass.exe": 0o644,
	} {
		path := filepath.Join(dir, "programs", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	readme := filepath.Join(dir, "README.md")
	if err := os.WriteFile(readme, []byte("read me"), 0o600); err != nil {
		t.Fatal(err)
	}
	return archive.Release{
		Version: "v1.2.3", Commit: "4be1d1cd", Programs: filepath.Join(dir, "programs"), Out: filepath.Join(dir, "out"),
		Files: []string{readme}, Time: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
	}
}

func TestArchivesHoldWhatAPersonNeeds(t *testing.T) {
	t.Parallel()
	r := built(t)
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"-rw-r--r-- windlass_v1.2.3_linux_amd64/README.md",
		"-rwxr-xr-x windlass_v1.2.3_linux_amd64/examples/notes",
		"-rw-r--r-- windlass_v1.2.3_linux_amd64/sbom-windlass.cdx.json",
		"-rwxr-xr-x windlass_v1.2.3_linux_amd64/windlass",
		"-rwxr-xr-x windlass_v1.2.3_linux_amd64/windlass-temporal",
	}
	if got := tarList(t, filepath.Join(r.Out, "windlass_v1.2.3_linux_amd64.tar.gz")); !slices.Equal(got, want) {
		t.Errorf("the archive holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	z, err := zip.OpenReader(filepath.Join(r.Out, "windlass_v1.2.3_windows_arm64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if got := z.File[1].Name; len(z.File) != 2 || got != "windlass_v1.2.3_windows_arm64/windlass.exe" || z.File[1].Mode().Perm() != 0o755 {
		t.Errorf("the archive for Windows holds %d files, the second is %s with mode %v", len(z.File), got, z.File[1].Mode())
	}
}

func tarList(t *testing.T, path string) []string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)) || h.Uid != 0 || h.Uname != "" {
			t.Errorf("%s has time %v and owner %d %q", h.Name, h.ModTime, h.Uid, h.Uname)
		}
		out = append(out, h.FileInfo().Mode().String()+" "+h.Name)
	}
}

// TestChecksumsAndProvenanceNameEveryFile: what SHA256SUMS says of each file holds, and the statement of provenance names all archives.
func TestChecksumsAndProvenanceNameEveryFile(t *testing.T) {
	t.Parallel()
	r := built(t)
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(r.Out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(r.Out, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the checksum %x, SHA256SUMS says %s", name, got, sum)
		}
		names = append(names, name)
	}
	want := []string{
		"windlass_v1.2.3_linux_amd64.tar.gz", "windlass_v1.2.3_linux_amd64.tar.gz.windlass.cdx.json", "windlass_v1.2.3_windows_arm64.zip",
		"homebrew/windlass.rb", "npm/package.json", "npm/windlass.js", "windlass_v1.2.3.intoto.json",
	}
	if !slices.Equal(names, want) {
		t.Errorf("SHA256SUMS names %v, want %v", names, want)
	}
	var statement struct {
		Subject   []struct{ Name string }
		Predicate struct {
			BuildDefinition struct {
				ResolvedDependencies []struct{ Digest map[string]string }
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(r.Out, "windlass_v1.2.3.intoto.json"))
	if err = errors.Join(err, json.Unmarshal(data, &statement)); err != nil {
		t.Fatal(err)
	}
	if len(statement.Subject) != 6 || statement.Predicate.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"] != "4be1d1cd" {
		t.Errorf("the statement of provenance is %+v", statement)
	}
}

// TestPackageManagersKnowTheChecksums: the formula and the npm package name each archive with its SHA-256.
func TestPackageManagersKnowTheChecksums(t *testing.T) {
	t.Parallel()
	r := built(t)
	if err := r.Write(); err != nil {
		t.Fatal(err)
	}
	sum := func(name string) string {
		data, err := os.ReadFile(filepath.Join(r.Out, name))
		if err != nil {
			t.Fatal(err)
		}
		of := sha256.Sum256(data)
		return hex.EncodeToString(of[:])
	}
	linux, windows := sum("windlass_v1.2.3_linux_amd64.tar.gz"), sum("windlass_v1.2.3_windows_arm64.zip")
	for name, want := range map[string][]string{
		"homebrew/windlass.rb": {"on_linux do", "on_intel do", `version "1.2.3"`, "/v1.2.3/windlass_v1.2.3_linux_amd64.tar.gz", linux},
		"npm/windlass.js":      {linux, windows, `const version = "v1.2.3"`},
		"npm/package.json":     {`"version": "1.2.3"`},
	} {
		data, err := os.ReadFile(filepath.Join(r.Out, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s does not contain %q:\n%s", name, part, data)
			}
		}
	}
}

func TestTheSameInputGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	r := built(t)
	again := r
	again.Out += "-again"
	if err := errors.Join(r.Write(), again.Write()); err != nil {
		t.Fatal(err)
	}
	one, err1 := os.ReadFile(filepath.Join(r.Out, "SHA256SUMS"))
	two, err2 := os.ReadFile(filepath.Join(again.Out, "SHA256SUMS"))
	if err1 != nil || err2 != nil || string(one) != string(two) {
		t.Errorf("the checksums are\n%s%v and\n%s%v", one, err1, two, err2)
	}
}

func TestARunThatCannotBeRightIsRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*archive.Release){
		"no version":             func(r *archive.Release) { r.Version = "" },
		"a version with a path":  func(r *archive.Release) { r.Version = "v1/../../etc" },
		"no commit":              func(r *archive.Release) { r.Commit = "" },
		"no folder":              func(r *archive.Release) { r.Programs = "nowhere" },
		"no platform":            func(r *archive.Release) { r.Programs = t.TempDir() },
		"a file that is missing": func(r *archive.Release) { r.Files = []string{"nothing"} },
		"a link": func(r *archive.Release) {
			if err := os.Symlink("/etc/passwd", filepath.Join(r.Programs, "windlass", "linux_amd64", "link")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		r := built(t)
		change(&r)
		err := r.Write()
		if _, there := os.Stat(filepath.Join(r.Out, "SHA256SUMS")); err == nil || there == nil {
			t.Errorf("%s: error %v, and there are checksums: %v", name, err, there == nil)
		}
	}
}
