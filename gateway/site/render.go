package site

import (
	"html"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	gohtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// repository is where links lead that leave the documentation for the source.
const repository = "https://github.com/windlass-dev/windlass/blob/main/"

// markdown renders what the pages have: CommonMark with tables. Raw HTML is left out, and no style is written, which the policy forbids.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(nodes{}, 1))),
)

// relink gives headings their ids and links the addresses at which the site serves what they lead to.
func (s *Site) relink(c *content) {
	ids := map[string]int{}
	_ = ast.Walk(c.tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			id := slug(plain(n, c.source))
			if ids[id]++; ids[id] > 1 {
				id += "-" + strconv.Itoa(ids[id]-1)
			}
			n.SetAttributeString("id", []byte(id))
		case *ast.Link:
			n.Destination = []byte(s.resolve(c.page.file, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.resolve(c.page.file, string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
}

// resolve returns where a link of a page leads.
func (s *Site) resolve(file, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.Path == "" {
		return to
	}
	target := path.Join("docs", path.Dir(file), u.Path)
	name, ours := strings.CutPrefix(target, "docs/")
	switch {
	case ours && s.pages[name] != nil:
		u.Path = s.pages[name].address
	case ours && mediaType(name) != "":
		u.Path = Below + name
	default:
		if u.Fragment != "" {
			target += "#" + u.EscapedFragment()
		}
		return repository + target
	}
	return u.String()
}

// slug returns the id of a heading, as GitHub makes it.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(heading))
}

// anchor returns the id of a heading.
func anchor(n *ast.Heading) string {
	id, _ := n.AttributeString("id")
	text, _ := id.([]byte)
	return string(text)
}

// nodes renders what should not look as goldmark writes it.
type nodes struct{}

// RegisterFuncs implements renderer.NodeRenderer.
func (nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindFencedCodeBlock, code)
	r.Register(ast.KindHTMLBlock, nothing)
	r.Register(ast.KindRawHTML, key)
	r.Register(tables.KindTable, table)
}

// heading writes a heading with a link to itself.
func heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	level, id := strconv.Itoa(n.Level), html.EscapeString(anchor(n))
	if entering {
		_, _ = w.WriteString(`<h` + level + ` id="` + id + `">`)
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(` <a class="anchor" href="#` + id + `" aria-label="Link to this section">#</a></h` + level + ">\n")
	return ast.WalkContinue, nil
}

// code writes a fenced block with the name of the file that it is, if it has one. It can be focused, so that keys scroll it.
func code(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.FencedCodeBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<figure class="code">`)
	label := string(n.Language(source))
	if n.Info != nil {
		for attr := range strings.FieldsSeq(string(n.Info.Segment.Value(source))) {
			if name, ok := strings.CutPrefix(attr, "title="); ok {
				label = name
				_, _ = w.WriteString(`<figcaption>` + html.EscapeString(name) + `</figcaption>`)
			}
		}
	}
	_, _ = w.WriteString(`<pre tabindex="0" role="group" aria-label="` + html.EscapeString("Code: "+label) + `"><code>`)
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		gohtml.DefaultWriter.RawWrite(w, line.Value(source))
	}
	_, _ = w.WriteString("</code></pre></figure>\n")
	return ast.WalkSkipChildren, nil
}

// table writes a table within what scrolls, for narrow screens.
func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>` + "\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// nothing leaves blocks of raw HTML out: the pages have comments only.
func nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// key writes the marks of keys. All other raw HTML is left out.
func key(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, ok := node.(*ast.RawHTML); ok && entering {
		if tag := string(n.Segments.Value(source)); tag == "<kbd>" || tag == "</kbd>" {
			_, _ = w.WriteString(tag)
		}
	}
	return ast.WalkSkipChildren, nil
}
