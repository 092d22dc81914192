package markdown

import (
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// wide returns a text of ASCII as UTF-16 without its mark.
func wide(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.Write([]byte{c, 0})
	}
	return b.String()
}

// TestLabels: front matter that may have labels and cannot be read is an error, so that no document loses them.
func TestLabels(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, source string
		want         []string
		refused      bool
	}{
		{"none", "# A\n", nil, false},
		{"no such field", "---\ntitle: A\n---\n# A\n", nil, false},
		{"a list", "---\nlabels: [a, b]\n---\n", []string{"a", "b"}, false},
		{"lines", "---\ntitle: A\nlabels:\n  - a\n  - b\n---\ntext", []string{"a", "b"}, false},
		{"one", "---\nlabels: a\n---\n", []string{"a"}, false},
		{"with commas", "---\nlabels: a, b\n---\n", []string{"a", "b"}, false},
		{"lines of Windows", "\ufeff---\r\nlabels: [a]\r\n---\r\n", []string{"a"}, false},
		{"lines of old Macs", "---\rlabels: [a]\r---\r", []string{"a"}, false},
		{"UTF-16", "\xff\xfe" + wide("---\nlabels: [a]\n---\n"), []string{"a"}, false},
		{"no text", "---\nlabels: [a]\n---\n\xff", nil, true},
		{"at the end", "---\nlabels: [a]\n---", []string{"a"}, false},
		{"empty", "---\n---\n", nil, false},
		{"no end", "---\nlabels: [a]\n", nil, false},
		{"a rule", "---\n\nfoo: : :\n\n---\n", nil, false},
		{"no YAML", "---\nlabels: [a\n---\n", nil, true},
		{"a map", "---\nlabels: {a: b}\n---\n", nil, true},
		{"lists in a list", "---\nlabels: [[a]]\n---\n", nil, true},
		{"an alias", "---\nx: &x a\nlabels: *x\n---\n", nil, true},
		{"text between rules", "---\n\nOf: labels: here\n\n---\n", nil, false},
		{"text far from a rule", "---\n" + strings.Repeat("y\n", 70<<10) + "---\n", nil, false},
		{"long", "---\nx: " + strings.Repeat("y", 70<<10) + "\nlabels: [a]\n---\n", nil, true},
	} {
		got, err := Labels(document.Input{MediaType: "text/markdown", Data: []byte(row.source)})
		if !slices.Equal(got, row.want) || (err != nil) != row.refused {
			t.Errorf("%s: %q, %v; want %q, refused %v", row.name, got, err, row.want, row.refused)
		}
	}
}
