// Package harness starts real Windlass processes for tests, calls them only through REST and SSE, and kills them.
package harness

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

// BinEnv names the folder of the programs under test, as users run them. `make test` builds them and sets it. Beside it are "race", with
// the race detector and fault points, and "faults", with fault points.
const BinEnv = "WINDLASS_TEST_BIN"

// RaceEnv says which tests start programs that are built with the race detector, which cost about four times the processor time: 1 is all
// of them, N one of N, drawn by the day (testmain.Draw), so that each has its day. Without it, or without a day, there are none.
const RaceEnv = "WINDLASS_TEST_RACE"

// Bin returns the path of a program: "windlass", "windlassd", "windlass-temporal", "examples/faulty".
func Bin(t testing.TB, name string) string {
	t.Helper()
	if Raced(t) && !strings.HasPrefix(name, "examples/") { // the examples' own tests have the race detector
		return program(t, "race", name)
	}
	return PlainBin(t, name)
}

// FaultsBin returns the path of a program whose fault points can be armed.
func FaultsBin(t testing.TB, name string) string {
	t.Helper()
	if Raced(t) {
		return program(t, "race", name)
	}
	return program(t, "faults", name)
}

// PlainBin returns the path of a program as users run it, without the race detector: its memory can be held to a bound.
func PlainBin(t testing.TB, name string) string {
	t.Helper()
	return program(t, "", name)
}

// program returns the path of a program in a folder beside that of the plain ones.
func program(t testing.TB, folder, name string) string {
	t.Helper()
	dir := os.Getenv(BinEnv)
	if dir == "" {
		dir = filepath.Join(Root(t), "bin", "test")
	}
	if folder != "" {
		dir = filepath.Join(filepath.Dir(dir), folder)
	}
	openTestdata()
	_, _ = os.ReadDir(filepath.Join(dir, "examples"))
	if !strings.HasPrefix(name, "examples/") {
		_, _ = os.ReadDir(dir) // programs start each other: the result rests on all of them
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not built: run `make test`, or `make test-programs` before a single test", path)
	}
	return path
}

// openTestdata tells go test of the files of a package that other programs read: it keeps results by the files that the test itself has
// opened.
var openTestdata = sync.OnceFunc(func() {
	_ = filepath.WalkDir("testdata", func(string, fs.DirEntry, error) error { return nil }) // there may be none
})

// Raced reports whether a test starts programs with the race detector: they are slower and need more memory. All parts of a test start the
// same programs.
func Raced(t testing.TB) bool {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(RaceEnv), "0"))
	if err != nil {
		t.Fatalf("%s is not a number: %v", RaceEnv, err)
	}
	if n < 2 {
		return n == 1
	}
	drawn, ok := testmain.Draw(whole(t), n)
	return ok && drawn == 0
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
