package hypertext

import (
	"strconv"

	"golang.org/x/net/html"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// item begins an item of the innermost list.
func (r *reader) item() {
	if len(r.lists) == 0 {
		return
	}
	l := &r.lists[len(r.lists)-1]
	l.items++
	r.marker = "- "
	if l.ordered {
		r.marker = strconv.Itoa(l.items) + ". "
	}
}

// table adds a table. A table within a cell is text of the cell.
func (r *reader) table(n *html.Node) {
	rows, first := [][]string{}, true
	header := false
	var visit func(*html.Node)
	visit = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Type != html.ElementNode || hidden(c) {
				continue
			}
			switch c.Data {
			case "caption":
				r.b.Add(document.Paragraph, 0, document.OneLine(textOf(c)))
			case "tr":
				cells, allHeaders := rowOf(c)
				header = header || first && allHeaders
				first = false
				rows = append(rows, cells)
			default:
				visit(c)
			}
		}
	}
	visit(n)
	out := document.NewRows(header)
	for _, cells := range rows {
		if out.Len() > r.b.Room() {
			break
		}
		out.Add(cells)
	}
	r.b.Add(document.Table, 0, out.Text())
}

// rowOf returns the cells of a row, and whether all of them are headers.
func rowOf(n *html.Node) (cells []string, headers bool) {
	headers = true
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		if c.Type == html.ElementNode && (c.Data == "td" || c.Data == "th") && !hidden(c) {
			cells = append(cells, spaced(c))
			headers = headers && c.Data == "th"
		}
	}
	return cells, headers && len(cells) > 0
}

// spaced returns the text of a cell, with spaces between its elements.
func spaced(n *html.Node) string {
	inner := document.Builder{}
	r := reader{b: &inner}
	r.children(n)
	r.flush()
	d, err := inner.Document()
	if err != nil {
		return ""
	}
	return d.Text
}
