package windlass_test

import (
	"strings"
	"testing"
)

// TestPackagesRunTheirTestsOneWay: in the order of the day, and checked for goroutines that are left behind.
func TestPackagesRunTheirTestsOneWay(t *testing.T) {
	tested, main := map[string]bool{}, map[string]bool{}
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.at(f.syntax.Pos()).Filename, "_test.go") || under(f.dir, "examples", "deploy", "tools") { // other modules
			continue
		}
		tested[f.dir] = true
		for _, imp := range f.imports() {
			main[f.dir] = main[f.dir] || imp.path == module+"/libs/testmain"
		}
	}
	for dir := range tested {
		if !main[dir] {
			t.Errorf("%s has no TestMain: add func TestMain(m *testing.M) { testmain.Verify(m) }, see libs/testmain", dir)
		}
	}
}
