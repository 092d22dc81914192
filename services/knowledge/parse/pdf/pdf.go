// Package pdf reads PDF documents.
package pdf

import (
	"errors"
	"strings"

	"github.com/windlass-dev/windlass/libs/pdftext"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/plain"
)

// Format is PDF.
type Format struct{}

// maxPages limits the pages of a document.
const maxPages = 5000

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	if extension == ".pdf" {
		return "application/pdf"
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool { return mediaType == "application/pdf" }

// Parse reads a document: paragraphs by the distances of lines.
func (Format) Parse(in document.Input) (document.Document, error) {
	found, err := pdftext.Read(in.Data, pdftext.Limits{Pages: maxPages, Text: document.MaxText})
	switch {
	case errors.Is(err, pdftext.ErrEncrypted):
		return document.Document{}, document.Refuse("is encrypted: save it without a password")
	case err != nil:
		return document.Document{}, document.Refuse("is a damaged PDF document: save it again with another program")
	case found.MorePages:
		return document.Document{}, document.Refuse("has more than %d pages: split it into several documents", maxPages)
	case strings.TrimSpace(strings.Join(found.Pages, "")) == "":
		return document.Document{}, document.Refuse("has no text that can be read: if its pages are images, recognize their text (OCR) first")
	}
	var b document.Builder
	b.SetTitle(found.Title)
	for i, page := range found.Pages {
		b.SetPage(i + 1)
		plain.Paragraphs(&b, page)
	}
	return b.Document()
}
