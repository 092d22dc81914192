package docs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	adrTitle   = regexp.MustCompile(`^# (\d{4})\. (.+)$`)
	adrStatus  = regexp.MustCompile(`^Status: (proposed|accepted|rejected|superseded by \[\d{4}\]\(\d{4}-[a-z0-9-]+\.md\))(, \d{4}-\d{2}-\d{2})?$`)
	adrChanged = regexp.MustCompile(`(?m)^(?:Status: superseded|- Changed) by \[(\d{4})\]\((\d{4})-`)
	section    = regexp.MustCompile(`(?m)^## .+$`)
)

// TestDecisionsFollowTheTemplate checks each page of docs/adr against the template in its README, and that the README lists it once.
func TestDecisionsFollowTheTemplate(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(root, "docs/adr/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sections := []string{"## Context", "## Decision", "## Consequences", "## Also considered"}
	found := 0
	for _, p := range pages(t) {
		name := path.Base(p.path)
		if path.Dir(p.path) != "docs/adr" || name == "README.md" {
			continue
		}
		found++
		lines := strings.SplitN(p.text, "\n", 4)
		title := adrTitle.FindStringSubmatch(lines[0])
		if title == nil || !strings.HasPrefix(name, title[1]+"-") {
			t.Errorf("%s: the first line is %q, not %q", p.path, lines[0], "# NNNN. TITLE")
			continue
		}
		if len(lines) < 4 || !adrStatus.MatchString(lines[2]) {
			t.Errorf("%s: the third line is no allowed status", p.path)
		}
		heads := section.FindAllString(fenced.ReplaceAllString(p.text, ""), -1)
		if !slices.Equal(heads, sections) && !slices.Equal(heads, sections[:3]) {
			t.Errorf("%s: the headings are %q, not %q", p.path, heads, sections)
		}
		for _, by := range adrChanged.FindAllStringSubmatch(p.text, -1) {
			if by[1] != by[2] || by[1] <= title[1] {
				t.Errorf("%s: changed by %s in %s-…, which is not a later page", p.path, by[1], by[2])
			}
		}
		if entry := fmt.Sprintf("- [%s %s](%s)\n", title[1], title[2], name); strings.Count(string(index), entry) != 1 {
			t.Errorf("docs/adr/README.md needs one entry %q", strings.TrimSpace(entry))
		}
	}
	if found == 0 {
		t.Error("docs/adr has no page")
	}
}
