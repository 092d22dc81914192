// Package pdftext finds the text of PDF documents. It runs in child processes (libs/child) only: the library below it panics on damaged
// documents, and need not return.
package pdftext

import (
	"bytes"
	"errors"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Reasons why there is no document.
var (
	// ErrEncrypted: it needs a password.
	ErrEncrypted = errors.New("is encrypted")
	// ErrDamaged: it is no PDF document that can be read.
	ErrDamaged = errors.New("is a damaged document")
)

// Limits of what is read.
type Limits struct {
	// Pages and Text, in bytes, are where reading ends.
	Pages, Text int
}

// Document is the text of a document.
type Document struct {
	// Title is what the document says of itself; often empty, or the name of a file.
	Title string
	// Pages are the texts of its pages; empty for those that are images or cannot be read. Lines end with "\n", paragraphs with an empty line.
	Pages []string
	// MorePages and MoreText: reading ended at that limit.
	MorePages, MoreText bool
}

const (
	// nodesPerPage limits the nodes of the tree of pages, which may contain itself.
	nodesPerPage = 10
	maxDepth     = 64
)

// Read reads a document.
func Read(data []byte, l Limits) (Document, error) {
	doc, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return Document{}, ErrEncrypted
	case err != nil:
		return Document{}, ErrDamaged
	}
	w := walk{limits: l, nodes: nodesPerPage * l.Pages}
	w.tree(doc.Trailer().Key("Root").Key("Pages"), pdf.Value{}, 0)
	w.found.Title = title(doc)
	return w.found, nil
}

// title returns the title of a document, nothing where it cannot be read.
func title(doc *pdf.Reader) (text string) {
	defer func() { _ = recover() }() // the library panics where a document is damaged
	return strings.TrimSpace(clean(doc.Trailer().Key("Info").Key("Title").Text()))
}

// walk collects the texts of a tree of pages.
type walk struct {
	limits      Limits
	nodes, size int
	found       Document
}

// tree visits the pages below a node, which inherit its resources.
func (w *walk) tree(v, resources pdf.Value, depth int) {
	if w.nodes--; w.nodes < 0 || depth > maxDepth || w.found.MoreText || w.found.MorePages {
		return
	}
	if own := v.Key("Resources"); !own.IsNull() {
		resources = own
	}
	switch v.Key("Type").Name() {
	case "Pages":
		kids := v.Key("Kids")
		for i := range kids.Len() {
			w.tree(kids.Index(i), resources, depth+1)
		}
	case "Page":
		if len(w.found.Pages) == w.limits.Pages {
			w.found.MorePages = true
			return
		}
		text := strings.TrimSpace(clean(pageText(v, resources, w.limits.Text)))
		w.size += len(text)
		w.found.MoreText = w.size > w.limits.Text
		w.found.Pages = append(w.found.Pages, text)
	}
}

// pageText returns the text of a page: of a damaged one what comes before the damage.
func pageText(page, resources pdf.Value, limit int) string {
	p := newPen(resources.Key("Font"), limit)
	p.draw(page.Key("Contents"))
	return p.out.String()
}

// clean returns valid text without control characters.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
