// Package xlsx reads workbooks of Excel.
package xlsx

import (
	"encoding/xml"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// Format is XLSX.
type Format struct{}

const mediaType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// Limits of a workbook.
const (
	maxSheets  = 1000
	maxColumns = 16_384
	maxShared  = 2_000_000 // texts that cells share
)

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	if extension == ".xlsx" || extension == ".xlsm" {
		return mediaType
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(of string) bool { return of == mediaType }

// Parse reads a document: the sheets in their order, without hidden ones. The name of a sheet is a heading, its first row a header.
func (Format) Parse(in document.Input) (document.Document, error) {
	var b document.Builder
	if err := read(&b, in.Data); err != nil {
		return document.Document{}, err
	}
	return b.Document()
}

// workbook is what sheets refer to.
type workbook struct {
	shared []string
	dates  []bool // by style: whether its numbers are times
	from   int    // 1904 if the workbook counts days from that year
}

// sheet is a sheet that a workbook lists.
type sheet struct{ name, part string }

func read(b *document.Builder, data []byte) error {
	a, err := office.Open(data)
	if err != nil {
		return err
	}
	title, err := a.Title()
	if err != nil {
		return err
	}
	b.SetTitle(title)
	main, err := a.Main("xl/workbook.xml")
	if err != nil {
		return err
	}
	var w workbook
	sheets, err := w.sheets(a, main)
	if err != nil {
		return err
	}
	for _, s := range sheets {
		if err := w.readSheet(b, a, s); err != nil {
			return err
		}
	}
	return b.Err()
}

// sheets reads a workbook, and returns its sheets.
func (w *workbook) sheets(a *office.Archive, main string) ([]sheet, error) {
	in, err := a.Part(main)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, document.Refuse("is not a workbook of Excel")
	}
	relations, err := a.Relations(main)
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	for _, r := range relations {
		switch r.Kind {
		case "worksheet":
			targets[r.ID] = r.Target
		case "sharedStrings":
			err = w.readShared(a, r.Target)
		case "styles":
			err = w.readStyles(a, r.Target)
		}
		if err != nil {
			return nil, err
		}
	}
	var sheets []sheet
	return sheets, in.Elements(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			if v := office.Attribute(e, "date1904"); v == "1" || v == "true" {
				w.from = 1904
			}
		case "sheet":
			state, target := office.Attribute(e, "state"), targets[office.RelationID(e)]
			if target != "" && (state == "" || state == "visible") {
				sheets = append(sheets, sheet{name: office.Attribute(e, "name"), part: target})
			}
			if len(sheets) > maxSheets {
				return document.Refuse("has more than %d sheets", maxSheets)
			}
		}
		return nil
	})
}

// readShared reads the texts that cells share.
func (w *workbook) readShared(a *office.Archive, part string) error {
	in, err := a.Part(part)
	if in == nil || err != nil {
		return err
	}
	return in.Elements(func(e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		text, err := richText(in)
		w.shared = append(w.shared, text)
		if len(w.shared) > maxShared {
			return document.Refuse("has more than %d texts: split it into several documents", maxShared)
		}
		return err
	})
}

// richText returns the text of an element, without its reading aids.
func richText(in *office.Reader) (string, error) {
	var out strings.Builder
	err := in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			text, err := in.Text()
			out.WriteString(text)
			return err
		case "rPh":
			return in.Skip()
		}
		return nil
	})
	return out.String(), err
}
