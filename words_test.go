package windlass_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// strangeWords once stood for terms which Temporal, gRPC or Kubernetes have better words for: notify, apply, eager, retry, any.
var strangeWords = regexp.MustCompile(`\b(rouse[sd]?|heed(s|ed|ing)?|forsaken|unheard|glances?|anew|whoever|whomever|wish(es)?)\b`)

// strangeStems are in every text in which strangeWords finds something; looking for them is much faster.
var strangeStems = []string{"rouse", "heed", "forsaken", "unheard", "glance", "anew", "whoever", "whomever", "wish"}

// TestPlainWords looks for strange words in Go files, protos and docs.
func TestPlainWords(t *testing.T) {
	skipped := []string{".git", "node_modules", "testdata", "gen", "bin", "third_party"}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		slash := filepath.ToSlash(name)
		if d.IsDir() && (slices.Contains(skipped, d.Name()) || slices.Contains(skipped, slash)) {
			return filepath.SkipDir
		}
		if d.IsDir() || slash == "words_test.go" || !slices.Contains([]string{".go", ".proto", ".md"}, filepath.Ext(slash)) {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(strangeStems, func(stem string) bool { return bytes.Contains(text, []byte(stem)) }) {
			return nil
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if word := strangeWords.FindString(string(line)); word != "" {
				t.Errorf("%s:%d: %q: say it in the words of the field: %s", slash, i+1, word, strings.TrimSpace(string(line)))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
