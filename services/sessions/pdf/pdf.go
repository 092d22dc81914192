// Package pdf writes conversations as PDF.
package pdf

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"

	"codeberg.org/go-pdf/fpdf"
)

// Document is a conversation.
type Document struct {
	// Title is its heading, and Facts are lines below that.
	Title string
	Facts []string
	// Entries follow each other as they are.
	Entries []Entry
	// Time is when the document was made, as it says itself.
	Time time.Time
}

// Entry is a message, or what belongs to one.
type Entry struct {
	// Heading says what it is; "" = none. Minor makes it smaller.
	Heading string
	Minor   bool
	// Text has lines. Boxed gives it a background, as arguments and results have.
	Text  string
	Boxed bool
	// Notes follow in small letters, each a paragraph.
	Notes []string
}

// Sizes of letters in points, and of the page in millimetres.
const (
	titleSize, headingSize, minorSize, textSize, noteSize = 16, 11, 9.5, 9.5, 8
	margin, lineFactor                                    = 18, 0.5
	family                                                = "text"
)

//go:embed font/*.gz
var fonts embed.FS

// load returns the two faces, regular and bold.
var load = sync.OnceValues(func() (faces [2][]byte, err error) {
	for i, name := range []string{"DejaVuSansCondensed", "DejaVuSansCondensed-Bold"} {
		packed, err := fonts.Open("font/" + name + ".ttf.gz")
		if err != nil {
			return faces, err
		}
		r, err := gzip.NewReader(packed)
		if err != nil {
			return faces, err
		}
		if faces[i], err = io.ReadAll(r); err != nil {
			return faces, err
		}
	}
	return faces, nil
})

// Write returns a document as PDF. Characters that cannot be shown right are replaced by a box: those that the font lacks, such as Chinese
// ones and pictographs, and those written from right to left, such as Hebrew and Arabic ones, since all lines are laid out left to right.
func Write(d Document) ([]byte, error) {
	faces, err := load()
	if err != nil {
		return nil, fmt.Errorf("read fonts: %w", err)
	}
	w := writer{fpdf.New("P", "mm", "A4", "")}
	w.SetMargins(margin, margin, margin)
	w.SetAutoPageBreak(true, margin)
	w.SetCreationDate(d.Time)
	w.SetModificationDate(d.Time)
	w.SetCatalogSort(true)
	w.SetTitle(visible(d.Title), true)
	w.AddUTF8FontFromBytes(family, "", faces[0])
	w.AddUTF8FontFromBytes(family, "B", faces[1])
	w.SetFooterFunc(func() {
		w.SetY(-margin / 1.5)
		w.SetFont(family, "", noteSize)
		w.CellFormat(0, noteSize*lineFactor, fmt.Sprint(w.PageNo()), "", 0, "C", false, 0, "")
	})
	w.AddPage()
	w.SetFillColor(240, 240, 240)
	w.paragraph("B", titleSize, d.Title, false)
	for _, f := range d.Facts {
		w.paragraph("", noteSize, f, false)
	}
	for _, e := range d.Entries {
		w.entry(e)
	}
	var out bytes.Buffer
	if err := w.Output(&out); err != nil {
		return nil, fmt.Errorf("write PDF: %w", err)
	}
	return out.Bytes(), nil
}

type writer struct{ *fpdf.Fpdf }

func (w writer) entry(e Entry) {
	if e.Heading != "" {
		size := float64(headingSize)
		if e.Minor {
			size = minorSize
		}
		w.Ln(size * lineFactor)
		w.paragraph("B", size, e.Heading, false)
	}
	if e.Text != "" {
		w.paragraph("", textSize, e.Text, e.Boxed)
	}
	for _, n := range e.Notes {
		w.paragraph("", noteSize, n, false)
	}
}

func (w writer) paragraph(style string, size float64, text string, filled bool) {
	w.SetFont(family, style, size)
	w.MultiCell(0, size*lineFactor, visible(text), "", "L", filled)
	w.Ln(1)
}

// missing stands for what cannot be shown right.
const missing = '\u25a1'

// rightToLeft are the blocks of scripts that are written so, as far as the font has them.
var rightToLeft = &unicode.RangeTable{R16: []unicode.Range16{{0x590, 0x8ff, 1}, {0xfb1d, 0xfdff, 1}, {0xfe70, 0xfeff, 1}}}

// visible returns a text without what cannot be shown, or would change how the text around it is.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		case unicode.Is(rightToLeft, r):
			return missing
		case r > 0x2bff && (r < 0xa640 || r > 0xa7ff) && (r < 0xfb00 || r > 0xfeff) && r != 0xfffd:
			return missing
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\t", "    "))
}
