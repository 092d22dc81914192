package docs

import (
	"regexp"
	"strings"
	"testing"
)

// trouble marks the lines that a page must show: "…" does not stand for them.
var trouble = regexp.MustCompile(`✗|\berror:|\bwarning\b|\bfailed\b|\bFAILED\b|\bpanic\b`)

// fits reports whether an output is what a page shows. In the page "…" stands for any text inside a line, and alone on a line for any
// lines, also none, but for no line of trouble. Runs of spaces count as one, and those after a comma of a JSON object as none: protojson
// writes them as it likes.
func fits(want, got string) bool {
	if len(trouble.FindAllString(want, -1)) != len(trouble.FindAllString(got, -1)) {
		return false
	}
	var re strings.Builder
	re.WriteString(`^`)
	for _, line := range lines(want) {
		if line == "…" {
			re.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		re.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", `[^\n]*`) + `\n`)
	}
	re.WriteString(`$`)
	return regexp.MustCompile(re.String()).MatchString(strings.Join(lines(got), "\n") + "\n")
}

func lines(text string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.Join(strings.Fields(line), " ")
		if strings.HasPrefix(line, "{") {
			line = strings.ReplaceAll(line, `, "`, `,"`)
		}
		out = append(out, line)
	}
	return out
}

func TestFits(t *testing.T) {
	for _, c := range []struct {
		name, want, got string
		fits            bool
	}{
		{"same", "a b\nc\n", "a b\nc", true},
		{"columns of another width", "ID   NAME\n", "ID NAME\n", true},
		{"part of a line left out", "trn_… completed (… ms)", "trn_01 completed (12 ms)\n", true},
		{"lines left out", "a\n…\nz", "a\nb\nc\nz\n", true},
		{"no line left out", "a\n…\nz", "a\nz\n", true},
		{"another line", "a\nb", "a\nc\n", false},
		{"a line more", "a", "a\nb\n", false},
		{"a line less", "a\nb", "a\n", false},
		{"JSON with other spaces", `{"a":1,"b":2,…}`, `{"a":1, "b":2, "c":3}`, true},
		{"a dot is a dot", "a.b", "axb\n", false},
		{"an error left out", "a\n…\nz", "a\n✗ failed\nz\n", false},
		{"an error in the rest of a line", "a …", "a error: no\n", false},
		{"an error that is shown", "a\n…\nerror: …", "a\nb\nerror: no\n", true},
		{"the rest of a line is not the next line", "a…", "a\nb\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if fits(c.want, c.got) != c.fits {
				t.Errorf("fits(%q, %q) = %v", c.want, c.got, !c.fits)
			}
		})
	}
}
