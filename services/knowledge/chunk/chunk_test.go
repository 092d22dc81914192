package chunk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/tokens"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// check fails unless chunks are in order, without overlap, valid, and have every byte that is not blank.
func check(t interface {
	Helper()
	Fatalf(string, ...any)
}, d parse.Document, chunks []Chunk,
) {
	t.Helper()
	at := 0
	blank := func(s span) bool { return strings.TrimSpace(d.Text[s.start:s.end]) == "" }
	for i, c := range chunks {
		if c.Start < at || c.End <= c.Start || c.End > len(d.Text) {
			t.Fatalf("chunk %d is %d to %d after %d of %d", i, c.Start, c.End, at, len(d.Text))
		}
		text := d.Text[c.Start:c.End]
		if !utf8.ValidString(text) || blank(span{c.Start, c.End}) {
			t.Fatalf("chunk %d is %q", i, text)
		}
		if !blank(span{at, c.Start}) {
			t.Fatalf("%q is in no chunk", d.Text[at:c.Start])
		}
		if cuts(d.Text, c.Start) || cuts(d.Text, c.End) {
			t.Fatalf("chunk %d cuts a character", i)
		}
		if n := tokens.Text(text); n > Limit {
			t.Fatalf("chunk %d has %d tokens: %q", i, n, text)
		}
		at = c.End
	}
	if !blank(span{at, len(d.Text)}) {
		t.Fatalf("%q is in no chunk", d.Text[at:])
	}
}

// cuts reports whether a text is cut within a character of fewer than 100 bytes.
func cuts(text string, i int) bool {
	if mayCut(text, i) {
		return false
	}
	for at := i - 1; at > max(0, i-100); at-- {
		if utf8.RuneStart(text[at]) && mayCut(text, at) {
			return true
		}
	}
	return false
}

// of builds a document of blocks.
func of(blocks ...any) parse.Document {
	var d parse.Document
	for i := 0; i < len(blocks); i += 2 {
		b := parse.Block{Kind: blocks[i].(parse.Kind), Page: i/2 + 1}
		text := blocks[i+1].(string)
		if b.Kind == parse.Heading {
			b.Level = strings.Count(text, "#")
			text = strings.TrimLeft(text, "# ")
		}
		if d.Text != "" {
			d.Text += "\n\n"
		}
		b.Start = len(d.Text)
		d.Text += text
		b.End = len(d.Text)
		d.Blocks = append(d.Blocks, b)
	}
	return d
}

func TestHeadingsBeginChunks(t *testing.T) {
	d := of(parse.Paragraph, "Before.", parse.Heading, "# Setup", parse.Heading, "## Install", parse.Paragraph, "Run it.", parse.List, "- a",
		parse.Heading, "## Remove", parse.Paragraph, "Delete it.", parse.Heading, "# End", parse.Paragraph, "Bye.")
	chunks := Split(d)
	check(t, d, chunks)
	var got []string
	for _, c := range chunks {
		got = append(got, fmt.Sprintf("%d %s: %q", c.Page, strings.Join(c.Heading, "/"), d.Text[c.Start:c.End]))
	}
	want := []string{
		`1 : "Before."`, `2 Setup/Install: "Setup\n\nInstall\n\nRun it.\n\n- a"`, `6 Setup/Remove: "Remove\n\nDelete it."`, `8 End: "End\n\nBye."`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestLongBlocksAreCutByTheirStructure(t *testing.T) {
	row := strings.Repeat("Name: Ada | Role: engineer", 3)
	for _, c := range []struct {
		name  string
		kind  parse.Kind
		text  string
		inner string // what every chunk ends with
	}{
		{"sentences", parse.Paragraph, strings.Repeat("This sentence has some words, and it ends. ", 200), "."},
		{"sentences without spaces", parse.Paragraph, strings.Repeat("この文は短いです。", 400), "。"},
		{"rows", parse.Table, strings.Repeat(row+"\n", 200), row},
		{"functions", parse.Code, strings.Repeat("func f() {\n\treturn 1\n}\n\n", 200), "}"},
		{"words", parse.Paragraph, strings.Repeat("word ", 3000), "word"},
		{"one word", parse.Paragraph, strings.Repeat("a", 20_000), "a"},
		{"flags", parse.Paragraph, strings.Repeat("\U0001F1E9\U0001F1EA", 3000), "\U0001F1E9\U0001F1EA"},
		{"letters with marks", parse.Paragraph, strings.Repeat("e\u0301", 5000), "e\u0301"},
		{"families", parse.Paragraph, strings.Repeat("👩‍👩‍👧‍👦", 1000), "👩‍👩‍👧‍👦"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := of(c.kind, strings.TrimSpace(c.text))
			chunks := Split(d)
			check(t, d, chunks)
			if len(chunks) < 2 {
				t.Fatalf("%d chunks", len(chunks))
			}
			for _, k := range chunks {
				if !strings.HasSuffix(d.Text[k.Start:k.End], c.inner) {
					t.Errorf("a chunk ends with %q", d.Text[max(k.Start, k.End-40):k.End])
				}
			}
		})
	}
}

func TestSplitCoversEveryText(t *testing.T) {
	alphabet := []rune("abc .,!?\n\t|ABC019éあ。한글\u0301\u200d👩🇩🇪क्ष\U0001F3FD\u1100\u1161")
	rapid.Check(t, func(t *rapid.T) {
		var blocks []any
		for range rapid.IntRange(0, 8).Draw(t, "blocks") {
			kind := parse.Kind(rapid.IntRange(int(parse.Paragraph), int(parse.Quote)).Draw(t, "kind"))
			text := rapid.StringOfN(rapid.SampledFrom(alphabet), 1, 400, -1).Draw(t, "text")
			text = strings.TrimFunc(strings.Repeat(text, rapid.IntRange(1, 20).Draw(t, "times")), unicode.IsSpace)
			if text == "" {
				continue
			}
			if kind == parse.Heading {
				text = strings.Repeat("#", rapid.IntRange(1, 4).Draw(t, "level")) + text
			}
			blocks = append(blocks, kind, text)
		}
		d := of(blocks...)
		check(t, d, Split(d))
	})
}

// FuzzSplit cuts one paragraph.
func FuzzSplit(f *testing.F) {
	f.Add("One. Two.\n\nThree", 0)
	f.Fuzz(func(t *testing.T, text string, kind int) {
		text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
		if text == "" {
			return
		}
		d := of(parse.Kind(abs(kind)%6), "# "+text)
		check(t, d, Split(d))
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
