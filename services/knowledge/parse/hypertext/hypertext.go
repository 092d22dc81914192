// Package hypertext reads HTML.
package hypertext

import (
	"mime"
	"strings"

	"golang.org/x/net/html"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Format is HTML.
type Format struct{}

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	switch extension {
	case ".html", ".htm", ".xhtml":
		return "text/html"
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool {
	return mediaType == "text/html" || mediaType == "application/xhtml+xml"
}

// headBytes is where a document declares its character set.
const headBytes = 2048

// Parse reads a document: what it shows without its style sheets and scripts, but for navigation.
func (Format) Parse(in document.Input) (document.Document, error) {
	text, err := charset.Decode(in.Data, declared(in))
	if err != nil {
		return document.Document{}, err
	}
	var b document.Builder
	if err := Add(&b, text); err != nil {
		return document.Document{}, err
	}
	return b.Document()
}

// declared returns the media type, with the character set of the document's own declaration if it has none.
func declared(in document.Input) string {
	if _, params, err := mime.ParseMediaType(in.MediaType); err == nil && params["charset"] != "" {
		return in.MediaType
	}
	head := strings.ToLower(string(in.Data[:min(len(in.Data), headBytes)]))
	_, after, found := strings.Cut(head, "charset=")
	if !found {
		return in.MediaType
	}
	name, _, _ := strings.Cut(strings.TrimLeft(after, `"' `), `"`)
	name = strings.FieldsFunc(name+" ", func(r rune) bool { return strings.ContainsRune(`'"/> ;`, r) })[0]
	return "text/html; charset=" + name
}

// Add adds the blocks of a document or of a part of one.
func Add(b *document.Builder, text string) error {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return document.Refuse("has elements that are nested too deep: simplify it")
	}
	r := reader{b: b}
	r.children(root)
	r.flush()
	return b.Err()
}

// reader turns elements into blocks.
type reader struct {
	b      *document.Builder
	inline strings.Builder
	lists  []list
	quotes int
	marker string // of the item that begins
}

// list is a list that is open.
type list struct {
	ordered bool
	items   int
}

// flush makes the collected text a block.
func (r *reader) flush() {
	text := tidy(r.inline.String())
	r.inline.Reset()
	level := 0
	if text == "" {
		return
	}
	kind := document.Paragraph
	switch {
	case len(r.lists) > 0:
		kind, level = document.List, len(r.lists)
		text = strings.Repeat("  ", level-1) + r.marker + text
		r.marker = ""
	case r.quotes > 0:
		kind = document.Quote
	}
	r.b.Add(kind, level, text)
}

// tidy collapses blank characters; lines end at line breaks, which are "\v" so far.
func tidy(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\v") {
		if line = document.OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

func (r *reader) children(n *html.Node) {
	for c := n.FirstChild; c != nil && r.b.Err() == nil; c = c.NextSibling {
		r.node(c)
	}
}

func (r *reader) node(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		r.inline.WriteString(strings.ReplaceAll(n.Data, "\v", " "))
	case html.ElementNode:
		if !hidden(n) {
			r.element(n)
		}
	case html.DocumentNode:
		r.children(n)
	case html.ErrorNode, html.CommentNode, html.DoctypeNode, html.RawNode: // show nothing
	}
}

func (r *reader) element(n *html.Node) {
	switch n.Data {
	case "head":
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type == html.ElementNode && c.Data == "title" {
				r.b.SetTitle(textOf(c))
			}
		}
	case "h1", "h2", "h3", "h4", "h5", "h6":
		r.flush()
		r.b.Add(document.Heading, int(n.Data[1]-'0'), document.OneLine(textOf(n)))
	case "pre":
		r.flush()
		r.b.Add(document.Code, 0, textOf(n))
	case "table":
		r.flush()
		r.table(n)
	case "br":
		r.inline.WriteByte('\v')
	case "img":
		r.inline.WriteString(" " + attribute(n, "alt") + " ")
	case "ul", "ol":
		r.flush()
		r.lists = append(r.lists, list{ordered: n.Data == "ol"})
		r.children(n)
		r.flush()
		r.lists = r.lists[:len(r.lists)-1]
	case "li":
		r.flush()
		r.item()
		r.children(n)
		r.flush()
	case "blockquote":
		r.flush()
		r.quotes++
		r.children(n)
		r.flush()
		r.quotes--
	default:
		block := isBlock(n.Data)
		if block {
			r.flush()
		}
		r.children(n)
		if block {
			r.flush()
		}
	}
}

// hidden reports whether an element shows nothing, or only helps to find other pages.
func hidden(n *html.Node) bool {
	switch n.Data {
	case "script", "style", "template", "noscript", "iframe", "object", "svg", "math", "canvas", "video", "audio", "select", "textarea", "nav",
		"datalist", "embed", "noframes":
		return true
	case "dialog":
		return !has(n, "open")
	}
	if has(n, "hidden") || strings.EqualFold(attribute(n, "aria-hidden"), "true") {
		return true
	}
	style := strings.ToLower(strings.Join(strings.Fields(attribute(n, "style")), ""))
	return strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
}

func has(n *html.Node, key string) bool {
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func isBlock(name string) bool {
	switch name {
	case "html", "body", "p", "div", "section", "article", "main", "header", "footer", "aside", "address", "figure", "figcaption", "form",
		"fieldset", "legend", "dl", "dt", "dd", "hr", "details", "summary", "center", "caption", "option", "dialog", "search", "hgroup", "menu":
		return true
	}
	return false
}

// textOf returns the text of an element with its spaces.
func textOf(n *html.Node) string {
	var out strings.Builder
	var add func(*html.Node)
	add = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				out.WriteString(c.Data)
			case c.Type == html.ElementNode && c.Data == "br":
				out.WriteByte('\n')
			case c.Type == html.ElementNode && !hidden(c):
				add(c)
			}
		}
	}
	add(n)
	return out.String()
}
