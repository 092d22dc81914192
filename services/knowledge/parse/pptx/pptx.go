// Package pptx reads presentations of PowerPoint.
package pptx

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
	"github.com/windlass-dev/windlass/services/knowledge/parse/office"
)

// Format is PPTX.
type Format struct{}

const mediaType = "application/vnd.openxmlformats-officedocument.presentationml.presentation"

// maxSlides limits the slides of a presentation.
const maxSlides = 5000

// TypeOf returns the media type of files with an extension, "" for those of other formats.
func (Format) TypeOf(extension string) string {
	if extension == ".pptx" || extension == ".pptm" {
		return mediaType
	}
	return ""
}

// Reads reports whether files of a media type are read.
func (Format) Reads(of string) bool { return of == mediaType }

// Parse reads a document: the slides in their order, with their tables and notes. Slides are its pages, and their titles its headings.
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
	if title != "PowerPoint Presentation" { // which PowerPoint writes for none
		b.SetTitle(title)
	}
	main, err := a.Main("ppt/presentation.xml")
	if err != nil {
		return err
	}
	slides, err := slidesOf(a, main)
	if err != nil {
		return err
	}
	for i, slide := range slides {
		b.SetPage(i + 1)
		if err := readSlide(b, a, slide); err != nil {
			return err
		}
	}
	return b.Err()
}

// slidesOf returns the parts of the slides in their order.
func slidesOf(a *office.Archive, main string) ([]string, error) {
	in, err := a.Part(main)
	if err != nil {
		return nil, err
	}
	if in == nil {
		return nil, document.Refuse("is not a presentation of PowerPoint")
	}
	relations, err := a.Relations(main)
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	for _, r := range relations {
		if r.Kind == "slide" {
			targets[r.ID] = r.Target
		}
	}
	var slides []string
	err = in.Elements(func(e xml.StartElement) error {
		if target := targets[office.RelationID(e)]; e.Name.Local == "sldId" && target != "" {
			slides = append(slides, target)
		}
		if len(slides) > maxSlides {
			return document.Refuse("has more than %d slides: split it into several documents", maxSlides)
		}
		return nil
	})
	return slides, err
}

func readSlide(b *document.Builder, a *office.Archive, part string) error {
	in, err := a.Part(part)
	if in == nil || err != nil {
		return err
	}
	r := reader{b: b, in: in}
	if err := in.Elements(r.element); err != nil || r.hidden {
		return err
	}
	relations, err := a.Relations(part)
	if err != nil {
		return err
	}
	for _, relation := range relations {
		if relation.Kind != "notesSlide" {
			continue
		}
		notes, err := a.Part(relation.Target)
		if notes == nil || err != nil {
			return err
		}
		r := reader{b: b, in: notes, notes: true}
		if err := notes.Elements(r.element); err != nil {
			return err
		}
	}
	return nil
}

// reader turns shapes into blocks.
type reader struct {
	b      *document.Builder
	in     *office.Reader
	notes  bool // read a slide's notes: of their page only the body
	hidden bool
}

func (r *reader) element(e xml.StartElement) error {
	switch e.Name.Local {
	case "sld":
		r.hidden = office.Attribute(e, "show") == "0"
	case "sp":
		return r.shape()
	case "tbl":
		return r.table()
	case "Fallback":
		return r.in.Skip()
	}
	if r.hidden {
		return r.in.Skip()
	}
	return nil
}

// shape reads a shape with text.
func (r *reader) shape() error {
	role, hasRole := "", false
	return r.in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "ph":
			role, hasRole = office.Attribute(e, "type"), true
		case "txBody":
			return r.body(role, hasRole)
		case "Fallback":
			return r.in.Skip()
		}
		return nil
	})
}

// body reads the text of a shape, by its role on the slide.
func (r *reader) body(role string, hasRole bool) error {
	switch role {
	case "sldNum", "dt", "ftr", "hdr", "sldImg":
		return r.in.Skip()
	}
	if r.notes && role != "body" {
		return r.in.Skip()
	}
	title := role == "title" || role == "ctrTitle"
	var heading []string
	err := r.in.Each(func(e xml.StartElement) error {
		if e.Name.Local != "p" {
			return nil
		}
		text, level, err := r.paragraph()
		switch {
		case title:
			heading = append(heading, text)
		case r.notes:
			r.b.Add(document.Quote, 0, text)
		case hasRole && (role == "" || role == "body") && strings.TrimSpace(text) != "":
			r.b.Add(document.List, level+1, strings.Repeat("  ", level)+"- "+strings.TrimSpace(text))
		default:
			r.b.Add(document.Paragraph, 0, text)
		}
		if err != nil {
			return err
		}
		return r.b.Err()
	})
	r.b.Add(document.Heading, 1, document.OneLine(strings.Join(heading, " ")))
	return err
}

// maxLevel limits the levels of lists.
const maxLevel = 8

// paragraph returns the text of a paragraph and its level, from 0.
func (r *reader) paragraph() (text string, level int, err error) {
	var out strings.Builder
	err = r.in.Each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "t":
			text, err := r.in.Text()
			out.WriteString(text)
			return err
		case "br":
			out.WriteByte('\n')
		case "pPr":
			n, err := strconv.Atoi(office.Attribute(e, "lvl"))
			if err == nil {
				level = min(max(n, 0), maxLevel)
			}
		}
		return nil
	})
	return out.String(), level, err
}

// table reads a table, whose first row is a header.
func (r *reader) table() error {
	rows := document.NewRows(true)
	err := r.in.Each(func(e xml.StartElement) error {
		if e.Name.Local != "tr" {
			return nil
		}
		var cells []string
		err := r.in.Each(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "tc":
				cells = append(cells, "")
			case "p":
				text, _, err := r.paragraph()
				if len(cells) > 0 {
					cells[len(cells)-1] += text + " "
				}
				return err
			}
			return nil
		})
		if rows.Len() <= r.b.Room() {
			rows.Add(cells)
		}
		return err
	})
	r.b.Add(document.Table, 0, rows.Text())
	if err != nil {
		return err
	}
	return r.b.Err()
}
