package xlsx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// readSheet adds a sheet.
func (w *workbook) readSheet(b *document.Builder, a *office.Archive, s sheet) error {
	in, err := a.Part(s.part)
	if in == nil || err != nil {
		return err
	}
	rows := document.NewRows(true)
	err = in.Elements(func(e xml.StartElement) error {
		if e.Name.Local != "row" {
			return nil
		}
		cells, err := w.row(in)
		if rows.Len() <= b.Room() {
			rows.Add(cells)
		}
		return err
	})
	if err != nil {
		return err
	}
	if rows.Len() > 0 {
		b.Add(document.Heading, 1, document.OneLine(s.name))
	}
	b.Add(document.Table, 0, rows.Text())
	return b.Err()
}

// row reads the cells of a row.
func (w *workbook) row(in *office.Reader) (cells []string, err error) {
	return cells, in.Each(func(e xml.StartElement) error {
		if e.Name.Local != "c" {
			return nil
		}
		column := len(cells)
		if ref := office.Attribute(e, "r"); ref != "" {
			column = columnOf(ref)
		}
		if column < 0 || column >= maxColumns {
			return document.Refuse("has a cell in a column that does not exist")
		}
		text, err := w.cell(in, office.Attribute(e, "t"), office.Attribute(e, "s"))
		if err != nil || text == "" {
			return err
		}
		for len(cells) <= column {
			cells = append(cells, "")
		}
		cells[column] = text
		return nil
	})
}

// columnOf returns the column of a reference such as "AB12", from 0.
func columnOf(ref string) int {
	n := 0
	for _, c := range ref {
		if c < 'A' || c > 'Z' || n > maxColumns {
			break
		}
		n = 26*n + int(c-'A') + 1
	}
	return n - 1
}

// cell returns what a cell of a kind and style shows: of a formula its last result.
func (w *workbook) cell(in *office.Reader, kind, style string) (string, error) {
	value, inline := "", ""
	err := in.Each(func(e xml.StartElement) (err error) {
		switch e.Name.Local {
		case "v":
			value, err = in.Text()
		case "is":
			inline, err = richText(in)
		}
		return err
	})
	switch kind {
	case "s":
		n, notNumber := strconv.Atoi(strings.TrimSpace(value))
		if notNumber != nil || n < 0 || n >= len(w.shared) {
			return "", err
		}
		return w.shared[n], err
	case "inlineStr":
		return inline, err
	case "b":
		return map[string]string{"0": "false", "1": "true"}[value], err
	case "", "n":
		return w.number(value, style), err
	}
	return value, err
}
