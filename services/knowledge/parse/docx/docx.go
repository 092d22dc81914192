// Package docx reads documents of Word.
package docx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// Format is DOCX.
type Format struct{}

const mediaType = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	if extension == ".docx" || extension == ".docm" {
		return mediaType
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(of string) bool { return of == mediaType }

// Parse reads a document: paragraphs, headings by their styles, lists, tables, footnotes and endnotes.
func (Format) Parse(in document.Input) (document.Document, error) {
	var b document.Builder
	if err := read(&b, in.Data); err != nil {
		return document.Document{}, err
	}
	return b.Document()
}

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
	main, err := a.Main("word/document.xml")
	if err != nil {
		return err
	}
	if !a.Has(main) {
		return document.Refuse("is not a document of Word")
	}
	relations, err := a.Relations(main)
	if err != nil {
		return err
	}
	r := reader{b: b}
	parts := []string{main}
	for _, relation := range relations {
		switch relation.Kind {
		case "styles":
			if r.headings, err = headings(a, relation.Target); err != nil {
				return err
			}
		case "footnotes", "endnotes":
			parts = append(parts, relation.Target)
		}
	}
	for _, part := range parts {
		if r.in, err = a.Part(part); err != nil {
			return err
		}
		if r.in == nil {
			continue
		}
		if err := r.in.Elements(r.block); err != nil {
			return err
		}
	}
	return b.Err()
}

// reader turns paragraphs and tables into blocks.
type reader struct {
	b        *document.Builder
	in       *office.Reader
	headings map[string]int // levels by the ids of styles
}

// block reads a paragraph or a table.
func (r *reader) block(e xml.StartElement) error {
	switch e.Name.Local {
	case "p":
		p, err := r.paragraph()
		if err != nil {
			return err
		}
		switch {
		case p.level > 0:
			r.b.Add(document.Heading, p.level, document.OneLine(p.text))
		case p.list > 0:
			r.b.Add(document.List, p.list, strings.Repeat("  ", min(p.list, maxLevel)-1)+"- "+strings.TrimSpace(p.text))
		default:
			r.b.Add(document.Paragraph, 0, p.text)
		}
		return r.b.Err()
	case "tbl":
		return r.table()
	}
	return r.unread(e)
}

// unread skips elements that are not text of the document: deleted text, and the second form of what has two.
func (r *reader) unread(e xml.StartElement) error {
	switch e.Name.Local {
	case "del", "moveFrom", "delText", "instrText", "Fallback", "sectPr":
		return r.in.Skip()
	}
	return nil
}

// maxLevel limits the levels of headings and lists.
const maxLevel = 9

// paragraph is a paragraph that was read.
type paragraph struct {
	text        string
	level, list int
}

func (r *reader) paragraph() (p paragraph, err error) {
	var out strings.Builder
	err = r.in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			text, err := r.in.Text()
			out.WriteString(text)
			return err
		case "tab":
			out.WriteByte('\t')
		case "br", "cr":
			out.WriteByte('\n')
		case "noBreakHyphen":
			out.WriteByte('-')
		case "pPr":
			return r.properties(&p)
		case "r":
			text, err := r.run()
			out.WriteString(text)
			return err
		}
		return r.unread(e)
	})
	p.text = out.String()
	return p, err
}

// run returns the text of a run, nothing if it is hidden.
func (r *reader) run() (string, error) {
	var out strings.Builder
	hidden := false
	err := r.in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			text, err := r.in.Text()
			out.WriteString(text)
			return err
		case "tab":
			out.WriteByte('\t')
		case "br", "cr":
			out.WriteByte('\n')
		case "noBreakHyphen":
			out.WriteByte('-')
		case "vanish":
			hidden = hidden || office.On(e)
		case "p": // of a text box
			out.WriteByte(' ')
		}
		return r.unread(e)
	})
	if hidden {
		return "", err
	}
	return out.String(), err
}

// properties reads the properties of a paragraph.
func (r *reader) properties(p *paragraph) error {
	numbered, depth := false, 0
	err := r.in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "pStyle":
			p.level = max(p.level, r.headings[office.Attribute(e, "val")])
		case "outlineLvl":
			if n, err := strconv.Atoi(office.Attribute(e, "val")); err == nil && n >= 0 && n < maxLevel {
				p.level = n + 1
			}
		case "numId":
			numbered = office.Attribute(e, "val") != "0"
		case "ilvl":
			depth, _ = strconv.Atoi(office.Attribute(e, "val")) // 0 for what is no number
		case "pPrChange", "rPr":
			return r.in.Skip()
		}
		return nil
	})
	if numbered {
		p.list = min(max(depth, 0), maxLevel-1) + 1
	}
	return err
}

// table reads a table, whose first row is a header. A table within a cell is text of the cell.
func (r *reader) table() error {
	rows := document.NewRows(true)
	err := r.in.Each(func(e xml.StartElement) error {
		if e.Name.Local != "tr" {
			return r.unread(e)
		}
		var cells []string
		if err := r.in.Each(func(e xml.StartElement) error {
			if e.Name.Local != "tc" {
				return r.unread(e)
			}
			cell, err := r.cell()
			cells = append(cells, cell)
			return err
		}); err != nil {
			return err
		}
		if rows.Len() <= r.b.Room() {
			rows.Add(cells)
		}
		return nil
	})
	r.b.Add(document.Table, 0, rows.Text())
	if err != nil {
		return err
	}
	return r.b.Err()
}

func (r *reader) cell() (string, error) {
	var out strings.Builder
	err := r.in.Each(func(e xml.StartElement) error {
		if e.Name.Local != "p" {
			return r.unread(e)
		}
		p, err := r.paragraph()
		out.WriteString(p.text + " ")
		return err
	})
	return out.String(), err
}
