package pdf_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/sessions/pdf"
	"github.com/windlass-dev/windlass/services/sessions/pdf/pdftest"
)

// textOf returns the text of a PDF, as another program reads it, with single spaces.
func textOf(t *testing.T, data []byte) string {
	t.Helper()
	program := pdftest.Program(t)
	path := filepath.Join(t.TempDir(), "x.pdf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "-enc", "UTF-8", path, "-").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// TestTextsAreInOrder: each text is in the file, in the order of the entries, over many pages.
func TestTextsAreInOrder(t *testing.T) {
	t.Parallel()
	d := pdf.Document{Title: "Prices", Facts: []string{"Session: ses_1"}, Time: time.Unix(0, 0)}
	for i := range 120 {
		d.Entries = append(d.Entries, pdf.Entry{
			Heading: fmt.Sprintf("User %d", i), Text: fmt.Sprintf("Straße Ελλάδα Москва №%d\nsecond line", i),
			Notes: []string{fmt.Sprintf("[%d] a note", i)},
		})
	}
	data, err := pdf.Write(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pdf.Write(d)
	if err != nil || !bytes.Equal(data, again) {
		t.Errorf("the same document is written in two ways, %v", err)
	}
	text := textOf(t, data)
	at := 0
	for i := range 120 {
		for _, part := range []string{
			fmt.Sprintf("User %d", i), fmt.Sprintf("Straße Ελλάδα Москва №%d", i), "second line", fmt.Sprintf("[%d] a note", i),
		} {
			found := strings.Index(text[at:], part)
			if found < 0 {
				t.Fatalf("%q is not behind byte %d", part, at)
			}
			at += found + len(part)
		}
	}
}

// TestHostileTexts: what the font lacks, or would be mirrored, is a box, and what would hide or reorder text is left out.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ text, want string }{
		"control characters": {"a\x00b\x1b[31mc", "ab[31mc"},
		"bidi":               {"abc\u202egnp.exe", "abcgnp.exe"},
		"pictographs":        {"x 😀 y", "x □ y"},
		"Chinese":            {"価 z", "□ z"},
		"Hebrew":             {"x שלום y", "x □□□□ y"},
		"Arabic":             {"x سلام y", "x □□□□ y"},
		"Arabic forms":       {"x \ufb1d\ufdff\ufe70\ufefc y", "x □□□□ y"},
		"broken UTF-8":       {"a\xffb", "b"},
		"a long word":        {strings.Repeat("w", 5000) + " end", "end"},
		"nothing":            {"", ""},
	} {
		data, err := pdf.Write(pdf.Document{Title: row.text, Entries: []pdf.Entry{{Heading: "H", Text: row.text, Boxed: true}}})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		// Where a space is between two boxes and letters is the reader's opinion.
		if text := strings.ReplaceAll(textOf(t, data), " ", ""); !strings.Contains(text, strings.ReplaceAll(row.want, " ", "")) {
			t.Errorf("%s: %q", name, text)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	d := pdf.Document{Title: "x"}
	for range 1000 {
		d.Entries = append(d.Entries, pdf.Entry{Heading: "User", Text: strings.Repeat("some words of a line ", 50)})
	}
	for b.Loop() {
		if _, err := pdf.Write(d); err != nil {
			b.Fatal(err)
		}
	}
}
