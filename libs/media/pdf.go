package media

import (
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/pdftext"
)

// Limits of the text of a document.
const (
	maxPages = 500
	maxText  = 1 << 20
)

// pdfText returns the text of a PDF document.
func pdfText(data []byte) (answer, error) {
	doc, err := pdftext.Read(data, pdftext.Limits{Pages: maxPages, Text: maxText})
	switch {
	case errors.Is(err, pdftext.ErrEncrypted):
		return answer{}, refuse("is encrypted")
	case err != nil:
		return answer{}, refuse("%v", err)
	case strings.Join(doc.Pages, "") == "":
		return answer{}, refuse("has no text that can be read: its pages may be images")
	}
	var out strings.Builder
	for i, page := range doc.Pages {
		fmt.Fprintf(&out, "[page %d]\n%s\n", i+1, page)
	}
	text := out.String()
	if doc.MoreText || len(text) > maxText {
		text = strings.ToValidUTF8(text[:min(len(text), maxText)], "") + "\n[cut: the text is longer]"
	} else if doc.MorePages {
		text += fmt.Sprintf("[cut: the document has more than %d pages]", maxPages)
	}
	return answer{Data: []byte(text)}, nil
}
