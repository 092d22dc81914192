// Package table reads values that are separated by commas, semicolons or tabs.
package table

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/charset"
	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Format is CSV and TSV. The first row is a header.
type Format struct{}

// maxColumns limits the columns of a table.
const maxColumns = 16_384

const typeTSV = "text/tab-separated-values"

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	switch extension {
	case ".csv":
		return "text/csv"
	case ".tsv", ".tab":
		return typeTSV
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(mediaType string) bool {
	return mediaType == "text/csv" || mediaType == "application/csv" || mediaType == typeTSV
}

// Parse reads a document.
func (Format) Parse(in document.Input) (document.Document, error) {
	text, err := charset.Decode(in.Data, in.MediaType)
	if err != nil {
		return document.Document{}, err
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
	r.Comma = separator(text, in.MediaType)
	var b document.Builder
	rows := document.NewRows(true)
	for rows.Len() <= document.MaxText { // Add refuses more
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			line := 0
			if bad, ok := errors.AsType[*csv.ParseError](err); ok {
				line = bad.Line
			}
			return document.Document{}, document.Refuse("is damaged in line %d", line)
		}
		if len(cells) > maxColumns {
			return document.Document{}, document.Refuse("has more than %d columns", maxColumns)
		}
		rows.Add(cells)
	}
	b.Add(document.Table, 0, rows.Text())
	return b.Document()
}

// separator returns what separates the values: of a CSV file what is most frequent in its first line.
func separator(text, mediaType string) rune {
	if strings.HasPrefix(mediaType, typeTSV) {
		return '\t'
	}
	first, _, _ := strings.Cut(strings.TrimLeft(text, "\r\n"), "\n")
	best, most := ',', strings.Count(first, ",")
	for _, c := range ";\t" {
		if n := strings.Count(first, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}
