package media

import (
	"bytes"
	"image"
	_ "image/gif" // decoders of image.Decode
	"image/jpeg"
	"image/png"
	"slices"

	_ "golang.org/x/image/bmp" // decoders of image.Decode
	"golang.org/x/image/draw"
	_ "golang.org/x/image/tiff" // a decoder as well
	_ "golang.org/x/image/webp" // a decoder as well
)

// maxPixels limits the images that are decoded.
const maxPixels = 50_000_000

// Media types of images that are written.
const (
	typeJPEG = "image/jpeg"
	typePNG  = "image/png"
)

// header is what is known of an image before it is decoded.
type header struct {
	mediaType     string
	width, height int
	turn          int // EXIF's orientation, 1 to 8
}

// measure reads the header of an image. It refuses images that are damaged, or have too many pixels.
func measure(data []byte) (header, error) {
	c, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return header{}, refuse("is not an image that can be decoded")
	case c.Width <= 0 || c.Height <= 0:
		return header{}, refuse("is an image without pixels")
	case c.Width > maxPixels/c.Height:
		return header{}, refuse("has %d × %d pixels, more than %d million", c.Width, c.Height, maxPixels/1_000_000)
	}
	h := header{mediaType: "image/" + format, width: c.Width, height: c.Height}
	h.turn = orientation(h.mediaType, data)
	return h, nil
}

// fits reports whether an image has a form as it is.
func (h header) fits(data []byte, f Form) bool {
	return h.turn == 1 && slices.Contains(f.Types, h.mediaType) && (f.MaxEdge == 0 || max(h.width, h.height) <= f.MaxEdge) &&
		(f.MaxBytes == 0 || len(data) <= f.MaxBytes)
}

// Parameters of what is written.
const (
	quality = 85 // of JPEG
	// shrinks is how often an image that has too many bytes is made smaller, each time to three quarters of its edge.
	shrinks = 8
	minEdge = 16
)

// convertImage decodes an image, and encodes it in a form.
func convertImage(data []byte, f Form) (answer, error) {
	h, err := measure(data)
	if err != nil {
		return answer{}, err
	}
	source, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return answer{}, refuse("is a damaged image: %v", err)
	}
	edge := max(source.Bounds().Dx(), source.Bounds().Dy())
	if f.MaxEdge > 0 {
		edge = min(edge, f.MaxEdge)
	}
	scaled := turned(scale(source, edge), h.turn)
	for range shrinks {
		for _, mediaType := range order(f.Types, h.mediaType) {
			out, err := encode(scaled, mediaType)
			if err != nil {
				return answer{}, err
			}
			if f.MaxBytes == 0 || len(out) <= f.MaxBytes {
				b := scaled.Bounds()
				return answer{MediaType: mediaType, Data: out, Width: b.Dx(), Height: b.Dy()}, nil
			}
		}
		if edge = edge * 3 / 4; edge < minEdge {
			break
		}
		scaled = scale(scaled, edge)
	}
	return answer{}, refuse("cannot be made smaller than %d bytes", f.MaxBytes)
}

// order returns the types to try: photos become JPEG, others PNG unless that is too large.
func order(allowed []string, source string) []string {
	types := []string{typePNG, typeJPEG}
	if source == typeJPEG {
		slices.Reverse(types)
	}
	return slices.DeleteFunc(types, func(t string) bool { return !slices.Contains(allowed, t) })
}

func encode(m *image.RGBA, mediaType string) ([]byte, error) {
	var out bytes.Buffer
	if mediaType == typePNG {
		err := png.Encode(&out, m)
		return out.Bytes(), err
	}
	if !m.Opaque() { // JPEG has no transparency
		white := image.NewRGBA(m.Bounds())
		draw.Draw(white, white.Bounds(), image.White, image.Point{}, draw.Src)
		draw.Draw(white, white.Bounds(), m, m.Bounds().Min, draw.Over)
		m = white
	}
	err := jpeg.Encode(&out, m, &jpeg.Options{Quality: quality})
	return out.Bytes(), err
}

// scale returns an image whose longer edge is edge. It averages whole pixels first, in strips, so that it needs little more memory than its
// result has.
func scale(source image.Image, edge int) *image.RGBA {
	b := source.Bounds()
	longer := max(b.Dx(), b.Dy())
	small := average(source, max(1, longer/edge))
	out := image.NewRGBA(image.Rect(0, 0, max(1, b.Dx()*edge/longer), max(1, b.Dy()*edge/longer)))
	if small.Bounds() == out.Bounds() {
		return small
	}
	draw.ApproxBiLinear.Scale(out, out.Bounds(), small, small.Bounds(), draw.Src, nil)
	return out
}

// average returns an image with one pixel for each square of n × n pixels.
func average(source image.Image, n int) *image.RGBA {
	b := source.Bounds()
	w, h := (b.Dx()+n-1)/n, (b.Dy()+n-1)/n
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	if n == 1 {
		draw.Draw(out, out.Bounds(), source, b.Min, draw.Src)
		return out
	}
	strip := image.NewRGBA(image.Rect(0, 0, b.Dx(), n))
	for y := range h {
		rows := min(n, b.Dy()-y*n)
		draw.Draw(strip, image.Rect(0, 0, b.Dx(), rows), source, image.Pt(b.Min.X, b.Min.Y+y*n), draw.Src)
		for x := range w {
			columns := min(n, b.Dx()-x*n)
			var sum [4]int
			for row := range rows {
				at := strip.PixOffset(x*n, row)
				for i, v := range strip.Pix[at : at+4*columns] {
					sum[i%4] += int(v)
				}
			}
			for i, s := range sum {
				out.Pix[out.PixOffset(x, y)+i] = byte(s / (rows * columns))
			}
		}
	}
	return out
}

// turned returns an image as EXIF's orientation says.
func turned(m *image.RGBA, orientation int) *image.RGBA {
	if orientation == 1 {
		return m
	}
	w, h := m.Bounds().Dx(), m.Bounds().Dy()
	size := image.Rect(0, 0, w, h)
	if orientation >= 5 {
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range size.Dy() {
		for x := range size.Dx() {
			fromX, fromY := x, y
			switch orientation {
			case 2:
				fromX = w - 1 - x
			case 3:
				fromX, fromY = w-1-x, h-1-y
			case 4:
				fromY = h - 1 - y
			case 5:
				fromX, fromY = y, x
			case 6:
				fromX, fromY = y, h-1-x
			case 7:
				fromX, fromY = w-1-y, h-1-x
			case 8:
				fromX, fromY = w-1-y, x
			}
			out.SetRGBA(x, y, m.RGBAAt(fromX, fromY))
		}
	}
	return out
}

// Size returns width and height of an image in pixels; false for what is no image that can be decoded. It decodes the header only.
func Size(data []byte) (width, height int, ok bool) {
	h, err := measure(data)
	return h.width, h.height, err == nil
}
