package parse_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/services/knowledge/chunk"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// golden are small documents of all kinds, and the blocks that they have.
func golden(t testing.TB) []struct {
	name string
	data []byte
	want string
} {
	return []struct {
		name string
		data []byte
		want string
	}{
		{"a.md", []byte("---\ntitle: The guide\ntags: [a, b]\n---\n# Setup\n\nSome *bold* text, `code` and\na [link](https://x.y).\n\n" +
			"- one\n  1. inner\n\n     more\n- two &amp; three\n\n```go\nfunc f() {\n}\n```\n\n> said\n\n" +
			"| Name | Role |\n|---|---|\n| Ada | *engineer* |\n\n" +
			"<div>shown <span hidden>not</span></div>\n\nSub\n---\n"), `title The guide
0 "title: The guide\ntags: a, b"
1/1 "Setup"
0 "Some bold text, code and a link."
2/1 "- one"
2/2 "  1. inner"
2/2 "     more"
2/1 "- two & three"
3 "func f() {\n}"
5 "said"
4 "Name | Role\nName: Ada | Role: engineer"
0 "shown"
1/2 "Sub"
`},
		{"a.html", []byte(`<!doctype html><html><head><title>The page</title><style>p{}</style><script>var x = "no"</script></head><body>` +
			`<nav><a href=/>Home</a></nav><h1>Big <i>one</i></h1><p>Some text<br>on two lines<p hidden>no</p><p style="display: none">no</p>` +
			`<ul><li>one<ol><li>inner</ol><li>two</ul><pre>  a\n b</pre><table><tr><th>Name<th>Role<tr><td>Ada<td>engineer</table>` +
			`<blockquote><p>said</blockquote><img alt="a picture"></body></html>`), `title The page
1/1 "Big one"
0 "Some text\non two lines"
2/1 "- one"
2/2 "  1. inner"
2/1 "- two"
3 "  a\\n b"
4 "Name | Role\nName: Ada | Role: engineer"
5 "said"
0 "a picture"
`},
		{"a.txt", []byte("\xef\xbb\xbfOne\r\nline\r\n\r\n \r\nTwo\a\r\n"), "title \n0 \"One\\nline\"\n0 \"Two\"\n"},
		{"utf16.txt", []byte("\xff\xfeH\x00\xe9\x00"), "title \n0 \"Hé\"\n"},
		{"a.pdf", pdfFile("", pdfPage, "BT /F1 9 Tf (Second) Tj ET"), `title ` + `
0@1 "One line,\nanother word."
0@1 "Table two"
0@2 "Second"
`},
		{"a.docx", wordFile(t, wordBody), `title A title
1/1 "Setup"
0 "First line\nsecond"
2/2 "  - item"
4 "Name | Role\nName: Ada | Role: engineer"
0 "A note."
`},
		{"a.pptx", slideFile(t, `<p:sld>`+shape("title", "Hello")+shape("", "Text")+`</p:sld>`, `<p:sld>`+shape("body", "point")+shape("ftr", "foot")+
			`</p:sld>`, `<p:sld show="0">`+shape("title", "Hidden")+`</p:sld>`), `title Hello
1/1@1 "Hello"
0@1 "Text"
2/1@2 "- point"
5@2 "Say hello."
`},
		{"a.xlsx", sheetFile(t, sheetRows), `title People
1/1 "People"
4 "Name | Born | Id\nName: Ada | Born: 2023-03-15 | Id: 9007199254740993\nName: Bob | Born: 2023-03-15 12:00:00"
`},
		{"a.csv", []byte("Name;Role\nAda;\"engineer;\nlead\"\nBob;\n"), "title \n" +
			"4 \"Name | Role\\nName: Ada | Role: engineer; lead\\nName: Bob\"\n"},
		{"a.json", []byte(`{"id":9007199254740993,"a b":{"list":[true,null,"x"]}}`), `title ` + `
4 "id: 9007199254740993"
4 "[\"a b\"].list[0]: true\n[\"a b\"].list[1]: null\n[\"a b\"].list[2]: x"
`},
		{"a.jsonl", []byte("{\"a\":1}\n{\"a\":2.50}\n"), "title \n4 \"a: 1\"\n4 \"a: 2.50\"\n"},
		{"dir/a.go", []byte("package a\n\nfunc f() {\n\n\treturn\n}\n\nvar x = 1\n"), `title a.go
3 "package a"
3 "func f() {\n\n\treturn\n}"
3 "var x = 1"
`},
	}
}

// listing is a document in the form that golden has.
func listing(d parse.Document) string {
	var b strings.Builder
	fmt.Fprintln(&b, "title", d.Title)
	for _, block := range d.Blocks {
		fmt.Fprint(&b, int(block.Kind))
		if block.Level > 0 {
			fmt.Fprintf(&b, "/%d", block.Level)
		}
		if block.Page > 0 {
			fmt.Fprintf(&b, "@%d", block.Page)
		}
		fmt.Fprintf(&b, " %q\n", d.Text[block.Start:block.End])
	}
	return b.String()
}

func TestKindsOfDocuments(t *testing.T) {
	p := parse.New()
	for i, row := range golden(t) {
		t.Run(row.name, func(t *testing.T) {
			in := parse.Input{Name: row.name, Data: row.data}
			d, err := parse.Read(in)
			if err != nil {
				t.Fatal(err)
			}
			if got := listing(d); got != row.want {
				t.Errorf("got\n%s\nwant\n%s", got, row.want)
			}
			wellFormed(t, d)
			if i > 2 { // the child reads a few of them too
				return
			}
			if again, err := p.Parse(t.Context(), in); err != nil || listing(again) != row.want || again.MediaType != d.MediaType {
				t.Errorf("in a child: %v, %+v", err, again)
			}
		})
	}
}

// wellFormed fails unless the blocks and the chunks of a document are in order and valid.
func wellFormed(t testing.TB, d parse.Document) {
	t.Helper()
	if !utf8.ValidString(d.Text) || strings.ContainsAny(d.Text, "\x00\r") || d.MediaType == "" {
		t.Fatalf("text of %s is not valid", d.MediaType)
	}
	at := 0
	for _, b := range d.Blocks {
		if b.Start < at || b.End <= b.Start || b.End > len(d.Text) || !utf8.ValidString(d.Text[b.Start:b.End]) {
			t.Fatalf("block %+v after %d of %d", b, at, len(d.Text))
		}
		if between := d.Text[at:b.Start]; strings.TrimSpace(between) != "" {
			t.Fatalf("%q is in no block", between)
		}
		at = b.End
	}
	if at != len(d.Text) {
		t.Fatalf("%q is in no block", d.Text[at:])
	}
	at = 0
	for _, c := range chunk.Split(d) {
		if c.Start < at || c.End <= c.Start || c.End > len(d.Text) || !utf8.ValidString(d.Text[c.Start:c.End]) ||
			strings.TrimSpace(d.Text[at:c.Start]) != "" {
			t.Fatalf("chunk %+v after %d of %d", c, at, len(d.Text))
		}
		at = c.End
	}
	if strings.TrimSpace(d.Text[at:]) != "" {
		t.Fatalf("%q is in no chunk", d.Text[at:])
	}
}
