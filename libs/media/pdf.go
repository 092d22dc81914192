package media

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Limits of the text of a document.
const (
	maxPages = 500
	maxText  = 1 << 20
	maxNodes = 10 * maxPages
	maxDepth = 64
)

// pdfText returns the text of a PDF document.
func pdfText(data []byte) (answer, error) {
	doc, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return answer{}, refuse("is encrypted")
	case err != nil:
		return answer{}, refuse("is a damaged document: %v", err)
	}
	w := walk{nodes: maxNodes}
	w.tree(doc.Trailer().Key("Root").Key("Pages"), 0)
	if !w.some {
		return answer{}, refuse("has no text that can be read: its pages may be images")
	}
	text := w.out.String()
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n[cut: the text is longer]"
	} else if w.more {
		text += fmt.Sprintf("[cut: the document has more than %d pages]", maxPages)
	}
	return answer{Text: text}, nil
}

// walk collects the text of a tree of pages, which may contain itself.
type walk struct {
	out          strings.Builder
	pages, nodes int
	// some: there is a text. more: there are more pages.
	some, more bool
}

// tree visits the pages below a node.
func (w *walk) tree(v pdf.Value, depth int) {
	if w.nodes--; w.nodes < 0 || depth > maxDepth || w.out.Len() > maxText || w.more {
		return
	}
	switch v.Key("Type").Name() {
	case "Pages":
		kids := v.Key("Kids")
		for i := range kids.Len() {
			w.tree(kids.Index(i), depth+1)
		}
	case "Page":
		if w.pages == maxPages {
			w.more = true
			return
		}
		w.pages++
		text := strings.TrimSpace(clean(pageText(pdf.Page{V: v})))
		w.some = w.some || text != ""
		fmt.Fprintf(&w.out, "[page %d]\n%s\n", w.pages, text)
	}
}

// pageText returns the text of a page, nothing for a page that cannot be read.
func pageText(page pdf.Page) (text string) {
	defer func() { _ = recover() }() // the library panics where a page is damaged
	text, err := page.GetPlainText(nil)
	if err != nil {
		return ""
	}
	return text
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
