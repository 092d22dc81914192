package site

import (
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Names of files.
const (
	suffix = ".md"
	// home is the page of a folder.
	home = "README.md"
	// decisions is the folder of what explains the past rather than the product.
	decisions = "adr/"
)

// page is a page of the documentation.
type page struct {
	// file is its name in the folder docs, address the path at which it is served.
	file, address string
	load          func() (*content, error)
}

// content is what a page has.
type content struct {
	page *page
	// title is the text of its first heading, anchor its id.
	title, anchor string
	// summary is its first sentence, "" if it does not begin with text.
	summary string
	html    template.HTML
	// contents are its headings of the second and third level.
	contents []entry
	// sections are its texts, each with the heading above it.
	sections []section
	tree     ast.Node
	source   []byte
}

// entry is a link to a page or a section of it.
type entry struct {
	Title, Address string
	// Level is that of the heading, for sections.
	Level int
}

// section is a part of a page below one heading.
type section struct {
	page *page
	// title is that of the page, heading that of the section, "" before the first one.
	title, heading, anchor string
	// text is its prose, code its fenced blocks.
	text, code string
	// folded are title, heading, text and code in lower case, for the search.
	folded struct{ title, heading, text, code string }
}

// address returns the path at which a page is served.
func address(file string) string {
	name := strings.TrimSuffix(file, suffix)
	if path.Base(file) == home {
		if name = path.Dir(file); name == "." {
			return Path
		}
	}
	return Below + name
}

// loader returns the function that reads a page once.
func (s *Site) loader(file string) func() (*content, error) {
	return sync.OnceValues(func() (*content, error) {
		source, err := fs.ReadFile(s.files, file)
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		return s.parse(s.pages[file], source)
	})
}

// parse reads and renders a page.
func (s *Site) parse(p *page, source []byte) (*content, error) {
	c := &content{page: p, source: source, tree: markdown.Parser().Parse(text.NewReader(source))}
	s.relink(c)
	c.read()
	var b strings.Builder
	if err := markdown.Renderer().Render(&b, source, c.tree); err != nil {
		return nil, fmt.Errorf("render page %s: %w", p.file, err)
	}
	c.html = template.HTML(b.String()) //nolint:gosec // the documentation of this version, rendered without raw HTML
	return c, nil
}

// read takes title, summary and sections from the tree, and the first heading out of it.
func (c *content) read() {
	at := section{page: c.page}
	for n := c.tree.FirstChild(); n != nil; n = n.NextSibling() {
		words := plain(n, c.source)
		heading, ok := n.(*ast.Heading)
		switch {
		case ok && c.title == "":
			c.title, at.title, c.anchor = words, words, anchor(heading)
			continue
		case ok:
			c.add(at)
			at.heading, at.anchor, at.text, at.code = words, anchor(heading), "", ""
			if heading.Level <= maxContents {
				c.contents = append(c.contents, entry{Title: words, Address: "#" + at.anchor, Level: heading.Level})
			}
			continue
		case n.Kind() == ast.KindParagraph && c.summary == "" && !strings.HasPrefix(words, "Status: "):
			c.summary = firstSentence(words)
		}
		if n.Kind() == ast.KindFencedCodeBlock {
			at.code += words + "\n"
		} else {
			at.text += words + "\n"
		}
	}
	c.add(at)
	if first := c.tree.FirstChild(); first != nil && first.Kind() == ast.KindHeading {
		c.tree.RemoveChild(c.tree, first)
	}
}

func (c *content) add(s section) {
	if s.heading != "" || s.text+s.code != "" {
		c.sections = append(c.sections, s)
	}
}

// maxContents is the level of headings up to which a page's contents list them.
const maxContents = 3

// maxSummary is how many bytes a summary may have.
const maxSummary = 240

// firstSentence returns the text up to the first full stop.
func firstSentence(words string) string {
	if end := strings.Index(words, ". "); end >= 0 {
		words = words[:end+1]
	}
	if len(words) > maxSummary {
		words = strings.ToValidUTF8(words[:strings.LastIndexByte(words[:maxSummary], ' ')], "") + " …"
	}
	return strings.TrimSuffix(words, ":")
}

// plain returns the text of a node in one line.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.AutoLink:
			if entering {
				b.Write(n.Label(source))
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		case *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		case *ast.ListItem, *ast.TextBlock, *ast.Paragraph, *tables.TableCell, *tables.TableRow:
			if !entering {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
