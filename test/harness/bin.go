// Package harness starts real Windlass processes for tests, talks to them as a stranger would (REST and SSE only), and kills them.
package harness

import (
	"os"
	"path/filepath"
	"testing"
)

// BinEnv names the folder of the programs under test. `make test` builds them with the race detector and sets it.
const BinEnv = "WINDLASS_TEST_BIN"

// Bin gives the path of a program: "windlass", "windlassd", "windlass-temporal", "examples/faulty".
func Bin(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(BinEnv)
	if dir == "" {
		dir = filepath.Join(Root(t), "bin", "test")
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make test`, or `make test-programs` before a single test", path)
	}
	return path
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
