package parse

import (
	"github.com/windlass-dev/windlass/services/knowledge/parse/docx"
	"github.com/windlass-dev/windlass/services/knowledge/parse/hypertext"
	"github.com/windlass-dev/windlass/services/knowledge/parse/jsonvalue"
	"github.com/windlass-dev/windlass/services/knowledge/parse/markdown"
	"github.com/windlass-dev/windlass/services/knowledge/parse/pdf"
	"github.com/windlass-dev/windlass/services/knowledge/parse/plain"
	"github.com/windlass-dev/windlass/services/knowledge/parse/pptx"
	"github.com/windlass-dev/windlass/services/knowledge/parse/source"
	"github.com/windlass-dev/windlass/services/knowledge/parse/table"
	"github.com/windlass-dev/windlass/services/knowledge/parse/xlsx"
)

// Format is a kind of documents.
type Format interface {
	// TypeOf returns the media type of files with an extension such as ".md", "" for those of other kinds.
	TypeOf(extension string) string
	// Reads reports whether files of a media type, without parameters, are of this kind.
	Reads(mediaType string) bool
	// Parse reads a file of this kind. The media type may have parameters. The error is an *Error.
	Parse(in Input) (Document, error)
}

// formats are the kinds of documents; of several that read a media type the first does.
func formats() []Format {
	return []Format{
		markdown.Format{},
		hypertext.Format{},
		table.Format{},
		jsonvalue.Format{},
		source.Format{},
		pdf.Format{},
		docx.Format{},
		pptx.Format{},
		xlsx.Format{},
		plain.Format{}, // and any other text
	}
}
