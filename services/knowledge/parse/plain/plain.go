// Package plain reads text without a format.
package plain

import (
	"mime"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Format is plain text, and any other text that has no format of its own.
type Format struct{}

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	switch extension {
	case ".txt", ".text", ".log", ".rst", ".adoc", ".org", ".tex", ".srt", ".vtt":
		return "text/plain"
	}
	return ""
}

// Reads reports whether files of a media type are read: all of text.
func (Format) Reads(mediaType string) bool { return IsText(mediaType) }

// IsText reports whether files of a media type are text.
func IsText(mediaType string) bool {
	switch mediaType {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
		"application/x-ndjson", "application/jsonl", "application/sql", "application/xhtml+xml", "application/x-sh", "application/typescript",
		"application/x-javascript", "application/x-httpd-php", "application/graphql":
		return true
	}
	base, _, _ := mime.ParseMediaType(mediaType)
	return strings.HasPrefix(base, "text/") || strings.HasSuffix(base, "+json") || strings.HasSuffix(base, "+xml")
}

// Parse reads a document: paragraphs are between empty lines.
func (Format) Parse(in document.Input) (document.Document, error) {
	text, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return document.Document{}, err
	}
	var b document.Builder
	Paragraphs(&b, text)
	return b.Document()
}

// Paragraphs adds the paragraphs of a text, which are between empty lines.
func Paragraphs(b *document.Builder, text string) {
	text = document.Clean(text)
	start, at := 0, 0
	for line := range strings.Lines(text) {
		end := at + len(line)
		if strings.TrimSpace(line) == "" {
			b.Add(document.Paragraph, 0, text[start:at])
			start = end
		}
		at = end
	}
	b.Add(document.Paragraph, 0, text[start:])
}
