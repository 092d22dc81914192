package pdftext

import "github.com/ledongthuc/pdf"

// font decodes strings and knows the widths of their glyphs.
type font struct {
	encoder pdf.TextEncoding
	wide    bool // codes have two bytes
	widths  map[int]float64
	other   float64 // width of glyphs without one
}

// maxWidths limits the widths that are read of a font.
const maxWidths = 1 << 16

func newFont(v pdf.Value) *font {
	if v.IsNull() {
		return &font{other: unknownWidth}
	}
	source := pdf.Font{V: v}
	f := &font{encoder: source.Encoder(), widths: map[int]float64{}, other: unknownWidth}
	if v.Key("Subtype").Name() == "Type0" {
		f.wide = true
		f.readWide(v.Key("DescendantFonts").Index(0))
		return f
	}
	first, widths := int(v.Key("FirstChar").Int64()), v.Key("Widths")
	for i := range min(widths.Len(), 256) {
		f.widths[first+i] = widths.Index(i).Float64()
	}
	return f
}

// readWide reads the widths of a composite font: lists "code [width …]" and "first last width".
func (f *font) readWide(v pdf.Value) {
	f.other = thousand
	if w := v.Key("DW"); w.Kind() == pdf.Integer || w.Kind() == pdf.Real {
		f.other = w.Float64()
	}
	list := v.Key("W")
	for i := 0; i+1 < list.Len() && len(f.widths) < maxWidths; {
		first, next := int(list.Index(i).Int64()), list.Index(i+1)
		if next.Kind() == pdf.Array {
			for j := range min(next.Len(), maxWidths) {
				f.widths[first+j] = next.Index(j).Float64()
			}
			i += 2
			continue
		}
		width := list.Index(i + 2).Float64()
		for code := first; code <= min(int(next.Int64()), first+maxWidths); code++ {
			f.widths[code] = width
		}
		i += 3
	}
}

func (f *font) decode(raw string) string {
	if f.encoder == nil {
		return raw
	}
	return f.encoder.Decode(raw)
}

// width returns the width of a string in thousandths of an em, and its number of glyphs and of spaces.
func (f *font) width(raw string) (width float64, glyphs, spaces int) {
	step := 1
	if f.wide {
		step = 2
	}
	for i := 0; i+step <= len(raw); i += step {
		code := int(raw[i])
		if f.wide {
			code = code<<8 | int(raw[i+1])
		} else if code == ' ' {
			spaces++
		}
		w, known := f.widths[code]
		if !known {
			w = f.other
		}
		width += w
		glyphs++
	}
	return width, glyphs, spaces
}
