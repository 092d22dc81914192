// Package markdown reads Markdown: CommonMark with tables, and front matter.
package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/hypertext"
)

// Format is Markdown.
type Format struct{}

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	switch extension {
	case ".md", ".markdown", ".mdown", ".mkd", ".mdx":
		return "text/markdown"
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool {
	return mediaType == "text/markdown" || mediaType == "text/x-markdown"
}

// Parse reads a document: the texts without their marks.
func (Format) Parse(in document.Input) (document.Document, error) {
	decoded, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return document.Document{}, err
	}
	source := document.Clean(decoded)
	var b document.Builder
	source = frontMatter(&b, source)
	if depth(source) > document.MaxDepth {
		return document.Document{}, document.Refuse("is nested more than %d deep: simplify it", document.MaxDepth)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	r := reader{b: &b, source: []byte(source)}
	r.children(md.Parser().Parse(text.NewReader(r.source)), context{})
	return b.Document()
}

// depth returns how many quotes and lists a line opens at most: each costs time for every line.
func depth(source string) int {
	most := 0
	for line := range strings.Lines(source) {
		n := 0
		for i := 0; i < len(line) && strings.IndexByte(" \t>-+*", line[i]) >= 0; i++ {
			if line[i] != ' ' {
				n++
			}
		}
		if strings.Trim(line, " \t-\n") == "" || strings.Trim(line, " \t*\n") == "" {
			continue // a line across the page
		}
		most = max(most, n)
	}
	return most
}

// reader turns nodes into blocks.
type reader struct {
	b      *document.Builder
	source []byte
}

// context is where a node is.
type context struct {
	depth, lists int
	marker       string // of the item that begins
	quoted       bool
}

// children adds the blocks of a node's children.
func (r *reader) children(n ast.Node, in context) {
	if in.depth++; in.depth > document.MaxDepth {
		r.b.Fail(document.Refuse("is nested more than %d deep: simplify it", document.MaxDepth))
	}
	for c := n.FirstChild(); c != nil && r.b.Err() == nil; c = c.NextSibling() {
		r.block(c, in)
		in.marker = strings.Repeat(" ", len(in.marker)) // further blocks of an item are indented
	}
}

func (r *reader) block(n ast.Node, in context) {
	switch n := n.(type) {
	case *ast.Heading:
		r.b.Add(document.Heading, n.Level, document.OneLine(r.inline(n)))
	case *ast.Paragraph, *ast.TextBlock:
		r.paragraph(r.inline(n), in)
	case *ast.CodeBlock:
		r.b.Add(document.Code, 0, r.lines(n))
	case *ast.FencedCodeBlock:
		r.b.Add(document.Code, 0, r.lines(n))
	case *ast.HTMLBlock:
		html := r.lines(n)
		if n.HasClosure() {
			html += string(n.ClosureLine.Value(r.source))
		}
		if err := hypertext.Add(r.b, html); err != nil {
			r.b.Fail(err)
		}
	case *ast.Blockquote:
		in.quoted = true
		r.children(n, in)
	case *ast.List:
		r.list(n, in)
	case *tables.Table:
		r.table(n)
	case *ast.ThematicBreak, *ast.LinkReferenceDefinition:
	default:
		r.children(n, in)
	}
}

func (r *reader) paragraph(text string, in context) {
	switch {
	case in.lists > 0:
		r.b.Add(document.List, in.lists, strings.Repeat("  ", in.lists-1)+in.marker+text)
	case in.quoted:
		r.b.Add(document.Quote, 0, text)
	default:
		r.b.Add(document.Paragraph, 0, text)
	}
}

func (r *reader) list(n *ast.List, in context) {
	in.lists++
	number := n.Start
	for item := n.FirstChild(); item != nil && r.b.Err() == nil; item = item.NextSibling() {
		in.marker = "- "
		if n.IsOrdered() {
			in.marker = strconv.Itoa(number) + ". "
			number++
		}
		r.children(item, in)
	}
}

func (r *reader) table(n *tables.Table) {
	rows := document.NewRows(true)
	for row := n.FirstChild(); row != nil && rows.Len() <= r.b.Room(); row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, r.inline(cell))
		}
		rows.Add(cells)
	}
	r.b.Add(document.Table, 0, rows.Text())
}

// lines returns the lines of a block as they are.
func (r *reader) lines(n ast.Node) string {
	var out strings.Builder
	for i := range n.Lines().Len() {
		segment := n.Lines().At(i)
		out.Write(segment.Value(r.source))
	}
	return out.String()
}

// inline returns the text of a block without its marks.
func (r *reader) inline(n ast.Node) string {
	var out strings.Builder
	depth := 0
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if !entering {
			depth--
			return ast.WalkContinue, nil
		}
		if depth++; depth > document.MaxDepth {
			r.b.Fail(document.Refuse("is nested more than %d deep: simplify it", document.MaxDepth))
			return ast.WalkStop, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(plain(n, r.source))
			if n.HardLineBreak() {
				out.WriteByte('\n')
			} else if n.SoftLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.AutoLink:
			out.Write(n.Label(r.source))
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}
