// Package harness starts real Windlass processes for tests, calls them only through REST and SSE, and kills them.
package harness

import (
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
)

// BinEnv names the folder of the programs under test. `make test` builds them with the race detector and sets it.
const BinEnv = "WINDLASS_TEST_BIN"

// Bin returns the path of a program: "windlass", "windlassd", "windlass-temporal", "examples/faulty".
func Bin(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(binDir(t), name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make test`, or `make test-programs` before a single test", path)
	}
	return path
}

func binDir(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv(BinEnv); dir != "" {
		return dir
	}
	return filepath.Join(Root(t), "bin", "test")
}

// FaultsBinEnv names the folder of the same programs, built with the tag "faults". By default it is "faults" beside the other.
const FaultsBinEnv = "WINDLASS_FAULTS_BIN"

// FaultsBin returns the path of a program whose fault points can be armed.
func FaultsBin(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(FaultsBinEnv)
	if dir == "" {
		dir = filepath.Join(filepath.Dir(binDir(t)), "faults")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make test`, or `make fault-programs` before a single test", path)
	}
	return path
}

// PlainBin returns the path of a program without the race detector, whose memory can be held to a bound: in the folder "plain" beside the
// other.
func PlainBin(t testing.TB, name string) string {
	t.Helper()
	if !Raced(t) {
		return Bin(t, name)
	}
	path := filepath.Join(filepath.Dir(binDir(t)), "plain", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make test`, or `make plain-programs` before a single test", path)
	}
	return path
}

// Raced reports whether the programs under test were built with the race detector: they are slower then and need more memory.
func Raced(t testing.TB) bool {
	t.Helper()
	info, err := buildinfo.ReadFile(Bin(t, "windlassd"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// Root is the repository's top folder.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("not inside the repository")
		}
		dir = up
	}
}
