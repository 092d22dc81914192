package document

import "strings"

// between stands between the cells of a row.
const between = " | "

// Rows makes the text of a table: a line for each row. Where the first row is a header, each cell of the others has its
// name in front, so that
// a row can be read alone.
type Rows struct {
	header []string
	out    strings.Builder
	begun  bool
	named  bool
}

// NewRows returns an empty table.
func NewRows(hasHeader bool) *Rows { return &Rows{named: hasHeader} }

// Add appends a row, without its empty cells.
func (r *Rows) Add(cells []string) {
	wrote := false
	for i, cell := range cells {
		cell = OneLine(cell)
		if cell == "" {
			continue
		}
		if wrote {
			r.out.WriteString(between)
		} else if r.out.Len() > 0 {
			r.out.WriteByte('\n')
		}
		wrote = true
		if r.named && r.begun && i < len(r.header) && r.header[i] != "" {
			r.out.WriteString(r.header[i] + ": ")
		}
		r.out.WriteString(cell)
	}
	if !wrote || r.begun {
		return
	}
	r.begun = true
	for _, cell := range cells {
		r.header = append(r.header, OneLine(cell))
	}
}

// Len returns the bytes of the text.
func (r *Rows) Len() int { return r.out.Len() }

// Text returns the text.
func (r *Rows) Text() string { return r.out.String() }
