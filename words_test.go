package windlass_test

import (
	"bytes"
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// strangeWords once stood for terms which Temporal, gRPC or Kubernetes have better words for: notify, apply, eager, retry, any.
var strangeWords = regexp.MustCompile(`\b(rouse[sd]?|heed(s|ed|ing)?|forsaken|unheard|glances?|anew|whoever|whomever|wish(es)?)\b`)

// strangeStems are in every text in which strangeWords finds something; looking for them is much faster.
var strangeStems = []string{"rouse", "heed", "forsaken", "unheard", "glance", "anew", "whoever", "whomever", "wish", "says nothing", "nobody", "somebody"}

// persons are words for no one in particular: a caller, a user, another worker or a person is meant. One message of the command line keeps one.
var persons = regexp.MustCompile(`\b([Nn]o|[Ss]ome|[Aa]ny|[Ee]very)body\b`)

// personsStay are lines with such a word that are wanted.
const personsStay = "nobody can be asked"

// phrases once stood for "matches no subject", "has neither permissions nor tools" and "waits for no resolution".
var phrases = regexp.MustCompile(`speaks? of (nobody|somebody)|rule %q says nothing|waits for nobody`)

// withoutPersons reports whether a file may not have such words: pages that are written by hand, and the code of some trees, but not their tests.
func withoutPersons(name string) bool {
	generated := []string{"docs/reference/cli.md", "docs/reference/domain-events.md"}
	if strings.HasSuffix(name, ".md") {
		return !slices.Contains(generated, name)
	}
	return under(name, "libs", "services/policy", "services/inference", "workflows", "examples") && strings.HasSuffix(name, ".go") &&
		!strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(path.Dir(name), "test")
}

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
		people := withoutPersons(slash) && bytes.Contains(text, []byte("body")) && persons.Match(text)
		if !people && !slices.ContainsFunc(strangeStems, func(stem string) bool { return bytes.Contains(text, []byte(stem)) }) {
			return nil
		}
		for i, line := range strings.Split(string(text), "\n") {
			word := cmp.Or(strangeWords.FindString(line), phrases.FindString(line))
			if word == "" && people && !strings.Contains(line, personsStay) {
				word = persons.FindString(line)
			}
			if word != "" {
				t.Errorf("%s:%d: %q: say it in the words of the field: %s", slash, i+1, word, strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
