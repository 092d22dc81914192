package windlass_test

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
	for _, name := range goFiles(t, true) {
		if !strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, m := range definedTest.FindAllSubmatch(read(t, name), -1) {
			defined[string(m[1])] = true
		}
	}
	pages := []string{"README.md", "CONTRIBUTING.md"}
	err := fs.WalkDir(os.DirFS("."), "docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, m := range namedTest.FindAllSubmatch(read(t, filepath.FromSlash(page)), -1) {
			if !defined[string(m[1])] {
				t.Errorf("%s names %s, which does not exist", page, m[1])
			}
		}
	}
}
