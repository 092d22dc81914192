package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest   = regexp.MustCompile("`(Test[A-Z][A-Za-z0-9]+)`")
	definedTest = regexp.MustCompile(`(?m)^func (Test[A-Z][A-Za-z0-9]+)\(`)
)

// TestNamedTestsExist checks that pages name no test that has been removed or renamed.
func TestNamedTestsExist(t *testing.T) {
	defined := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		for _, m := range definedTest.FindAllSubmatch(raw, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pages(t) {
		for _, m := range namedTest.FindAllStringSubmatch(p.text, -1) {
			if !defined[m[1]] {
				t.Errorf("%s names %s, which does not exist", p.path, m[1])
			}
		}
	}
}
