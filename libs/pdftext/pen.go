package pdftext

import (
	"math"
	"strings"

	"github.com/ledongthuc/pdf"
)

// What distances between two strings mean, in ems: documents have positions, and often neither spaces nor line ends.
const (
	newWord      = 0.2
	newLine      = 0.5
	newParagraph = 1.9
	// thousand is the unit of widths and adjustments.
	thousand = 1000
	// unknownWidth is that of glyphs of unknown width, in thousandths of an em.
	unknownWidth = 500
)

// maxFonts limits the fonts of a page.
const maxFonts = 256

// pen follows the operators of a page that show text.
type pen struct {
	out   strings.Builder
	last  byte // written
	limit int
	fonts pdf.Value
	known map[string]*font

	font               *font
	size, leading      float64
	charSpace, wordGap float64
	m                  matrix // of text
	lineX, lineY       float64
	x, y               float64
	endX, endY         float64 // where the last string ended
}

// matrix is the directions of text: (a, b) along the line, (c, d) up.
type matrix struct{ a, b, c, d float64 }

func newPen(fonts pdf.Value, limit int) *pen {
	return &pen{fonts: fonts, limit: limit, known: map[string]*font{}, font: &font{}, size: 1, m: matrix{a: 1, d: 1}}
}

// draw follows the contents of a page, up to where they are damaged.
func (p *pen) draw(contents pdf.Value) {
	defer func() { _ = recover() }() // the library panics where a page is damaged
	if contents.IsNull() {
		return
	}
	pdf.Interpret(contents, func(stack *pdf.Stack, op string) {
		args := make([]pdf.Value, stack.Len())
		for i := len(args) - 1; i >= 0; i-- {
			args[i] = stack.Pop()
		}
		if p.out.Len() <= p.limit {
			p.do(op, args)
		}
	})
}

// number returns an operand, 0 if it is missing.
func number(args []pdf.Value, i int) float64 {
	if i >= len(args) {
		return 0
	}
	return args[i].Float64()
}

func (p *pen) do(op string, args []pdf.Value) {
	switch op {
	case "BT":
		p.m = matrix{a: 1, d: 1}
		p.moveTo(0, 0)
	case "Tf":
		if len(args) == 2 {
			p.font, p.size = p.fontOf(args[0].Name()), args[1].Float64()
		}
	case "TL":
		p.leading = number(args, 0)
	case "Tc":
		p.charSpace = number(args, 0)
	case "Tw":
		p.wordGap = number(args, 0)
	case "TD":
		p.leading = -number(args, 1)
		p.move(number(args, 0), number(args, 1))
	case "Td":
		p.move(number(args, 0), number(args, 1))
	case "Tm":
		if len(args) == 6 {
			p.m = matrix{a: args[0].Float64(), b: args[1].Float64(), c: args[2].Float64(), d: args[3].Float64()}
			p.moveTo(args[4].Float64(), args[5].Float64())
		}
	case "T*":
		p.move(0, -p.leading)
	case "'", `"`:
		p.move(0, -p.leading)
		p.show(args)
	case "Tj", "TJ":
		p.show(args)
	}
}

func (p *pen) moveTo(x, y float64) { p.lineX, p.lineY, p.x, p.y = x, y, x, y }

// move begins a line relative to the begin of the last one.
func (p *pen) move(x, y float64) {
	p.moveTo(p.lineX+x*p.m.a+y*p.m.c, p.lineY+x*p.m.b+y*p.m.d)
}

// advance moves along the line, in the unit of the text's matrix.
func (p *pen) advance(by float64) {
	p.x += by * p.m.a
	p.y += by * p.m.b
}

// show shows the last operand, a string or an array of strings and adjustments.
func (p *pen) show(args []pdf.Value) {
	if len(args) == 0 {
		return
	}
	last := args[len(args)-1]
	if last.Kind() != pdf.Array {
		p.text(last.RawString())
		return
	}
	for i := range last.Len() {
		v := last.Index(i)
		if v.Kind() == pdf.String {
			p.text(v.RawString())
		} else {
			p.advance(-v.Float64() / thousand * p.size)
		}
	}
}

// text writes a string, after what its distance from the last one means.
func (p *pen) text(raw string) {
	if raw == "" {
		return
	}
	decoded := p.font.decode(raw)
	p.separate(decoded)
	p.out.WriteString(decoded)
	if decoded != "" {
		p.last = decoded[len(decoded)-1]
	}
	width, glyphs, spaces := p.font.width(raw)
	p.advance(width/thousand*p.size + p.charSpace*float64(glyphs) + p.wordGap*float64(spaces))
	p.endX, p.endY = p.x, p.y
}

func (p *pen) separate(next string) {
	if p.out.Len() == 0 {
		return
	}
	scale := math.Hypot(p.m.a, p.m.b)
	em := math.Abs(p.size) * scale
	if em == 0 || math.IsNaN(em) {
		return
	}
	dx, dy := p.x-p.endX, p.y-p.endY
	along, across := (dx*p.m.a+dy*p.m.b)/scale/em, math.Abs(dy*p.m.a-dx*p.m.b)/scale/em
	switch {
	case across > newParagraph:
		p.out.WriteString("\n\n")
	case across > newLine:
		p.out.WriteByte('\n')
	case (along > newWord || along < -newLine) && p.last != ' ' && !strings.HasPrefix(next, " "):
		p.out.WriteByte(' ')
	}
}

// fontOf returns a font of the page by its name.
func (p *pen) fontOf(name string) *font {
	if f := p.known[name]; f != nil {
		return f
	}
	if len(p.known) >= maxFonts {
		return &font{}
	}
	f := newFont(p.fonts.Key(name))
	p.known[name] = f
	return f
}
