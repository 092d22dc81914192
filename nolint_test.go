package windlass_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	enabledLinter = regexp.MustCompile(`(?m)^    - ([a-z]+)$`) // of linters.enable: other lists are indented deeper
	suppression   = regexp.MustCompile(`^//nolint:([\w,]+)`)
)

// TestSuppressionsAreOfEnabledLinters finds what the linter nolintlint does not report: comments about linters that do not run.
func TestSuppressionsAreOfEnabledLinters(t *testing.T) {
	config, err := os.ReadFile(".golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	enabled := []string{"errcheck", "govet", "ineffassign", "staticcheck", "unused"} // the standard ones
	for _, found := range enabledLinter.FindAllSubmatch(config, -1) {
		enabled = append(enabled, string(found[1]))
	}
	if !slices.Contains(enabled, "nolintlint") {
		t.Fatalf("only these linters are enabled: %s", enabled)
	}
	for _, f := range sources(t) {
		for _, group := range f.syntax.Comments {
			for _, c := range group.List {
				found := suppression.FindStringSubmatch(c.Text)
				if found == nil {
					continue
				}
				for linter := range strings.SplitSeq(found[1], ",") {
					if !slices.Contains(enabled, linter) {
						t.Errorf("%s: the linter %s is not enabled: delete its //nolint", f.at(c.Pos()), linter)
					}
				}
			}
		}
	}
}
