package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/bmp"

	"github.com/windlass-dev/windlass/libs/media"
)

var common = media.Form{Types: []string{"image/png", "image/jpeg"}, MaxEdge: 100, MaxBytes: 1 << 20}

func converter(t testing.TB) *media.Converter {
	t.Helper()
	c, err := media.New()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// picture is red in its left half and blue in its right half; its top row is white.
func picture(w, h int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{R: 255, A: 255}
			if x >= w/2 {
				c = color.NRGBA{B: 255, A: 255}
			}
			if y < h/10 {
				c = color.NRGBA{R: 255, G: 255, B: 255, A: 255}
			}
			m.SetNRGBA(x, y, c)
		}
	}
	return m
}

func encoded(t testing.TB, m image.Image, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, m)
	case "jpeg":
		err = jpeg.Encode(&b, m, &jpeg.Options{Quality: 95})
	case "gif":
		err = gif.Encode(&b, m, nil)
	case "bmp":
		err = bmp.Encode(&b, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// exif is a structure with an orientation and a text that must not reach a model.
func exif(turn uint16) []byte {
	b := []byte("MM\x00\x2a\x00\x00\x00\x08\x00\x01")
	b = binary.BigEndian.AppendUint16(b, 0x0112)
	b = append(b, 0, 3, 0, 0, 0, 1)
	b = binary.BigEndian.AppendUint16(b, turn)
	return append(b, "\x00\x00\x00\x00\x00\x00SECRET-PLACE"...)
}

func withExif(t testing.TB, data []byte, turn uint16) []byte {
	t.Helper()
	content := append([]byte("Exif\x00\x00"), exif(turn)...)
	segment := binary.BigEndian.AppendUint16([]byte{0xFF, 0xE1}, uint16(len(content)+2))
	return bytes.Join([][]byte{data[:2], segment, content, data[2:]}, nil)
}

func pngChunk(kind, content string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	b = append(b, kind+content...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(kind+content)))
}

func decoded(t testing.TB, got media.Image) image.Image {
	t.Helper()
	m, format, err := image.Decode(bytes.NewReader(got.Data))
	if err != nil || "image/"+format != got.MediaType || m.Bounds().Dx() != got.Width || m.Bounds().Dy() != got.Height {
		t.Fatalf("%s %d × %d: is %s %v, %v", got.MediaType, got.Width, got.Height, format, m.Bounds(), err)
	}
	return m
}

func TestImagesGetTheirForm(t *testing.T) {
	c := converter(t)
	for _, row := range []struct {
		name          string
		data          []byte
		form          media.Form
		media         string
		width, height int
	}{
		{"one that fits", encoded(t, picture(40, 30), "png"), common, "image/png", 40, 30},
		{"a large one", encoded(t, picture(1000, 500), "png"), common, "image/png", 100, 50},
		{"a large photo", encoded(t, picture(1000, 500), "jpeg"), common, "image/jpeg", 100, 50},
		{"a tall line", encoded(t, picture(1, 3000), "png"), common, "image/png", 1, 100},
		{"a little too large", encoded(t, picture(101, 10), "png"), common, "image/png", 100, 9},
		{"another type", encoded(t, picture(40, 30), "gif"), common, "image/png", 40, 30},
		{"bytes without pixels", encoded(t, picture(40, 30), "bmp"), common, "image/png", 40, 30},
		{"only JPEG is taken", encoded(t, picture(40, 30), "png"), media.Form{Types: []string{"image/jpeg"}}, "image/jpeg", 40, 30},
		{"turned", withExif(t, encoded(t, picture(40, 30), "jpeg"), 6), common, "image/jpeg", 30, 40},
		{"turned and large", withExif(t, encoded(t, picture(400, 300), "jpeg"), 8), common, "image/jpeg", 75, 100},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := c.Image(t.Context(), row.data, row.form)
			if err != nil {
				t.Fatal(err)
			}
			decoded(t, got)
			if got.MediaType != row.media || got.Width != row.width || got.Height != row.height {
				t.Errorf("%s of %d × %d, want %s of %d × %d", got.MediaType, got.Width, got.Height, row.media, row.width, row.height)
			}
		})
	}
}

func TestImagesOfTooManyBytesAreMadeSmaller(t *testing.T) {
	noise := image.NewNRGBA(image.Rect(0, 0, 300, 300))
	state := uint32(1)
	for i := range noise.Pix {
		state = state*1664525 + 1013904223
		noise.Pix[i] = byte(state>>24) | 1
	}
	c := converter(t)
	form := media.Form{Types: []string{"image/png", "image/jpeg"}, MaxBytes: 20_000}
	got, err := c.Image(t.Context(), encoded(t, noise, "png"), form)
	if err != nil || len(got.Data) > form.MaxBytes || got.MediaType != "image/jpeg" {
		t.Errorf("%d bytes of %s, %v", len(got.Data), got.MediaType, err)
	}
	form.MaxBytes = 10
	var refused *media.Error
	if _, err = c.Image(t.Context(), encoded(t, noise, "png"), form); !errors.As(err, &refused) || !strings.Contains(err.Error(), "10 bytes") {
		t.Error(err)
	}
}

// TestTurns checks all orientations by where the white top row and the red left half end up.
func TestTurns(t *testing.T) {
	c := converter(t)
	source := encoded(t, picture(60, 60), "jpeg")
	for turn, want := range map[uint16][3]image.Point{ // of white, red and blue
		1: {{30, 2}, {15, 40}, {45, 40}}, 2: {{30, 2}, {45, 40}, {15, 40}}, 3: {{30, 57}, {45, 20}, {15, 20}}, 4: {{30, 57}, {15, 20}, {45, 20}},
		5: {{2, 30}, {40, 15}, {40, 45}}, 6: {{57, 30}, {20, 15}, {20, 45}}, 7: {{57, 30}, {20, 45}, {20, 15}}, 8: {{2, 30}, {40, 45}, {40, 15}},
	} {
		got, err := c.Image(t.Context(), withExif(t, source, turn), common)
		if err != nil {
			t.Fatal(err)
		}
		m := decoded(t, got)
		for i, p := range want {
			r, g, b, _ := m.At(p.X, p.Y).RGBA()
			is := [3]bool{r > 0x8000, g > 0x8000, b > 0x8000}
			if is != [][3]bool{{true, true, true}, {true, false, false}, {false, false, true}}[i] {
				t.Errorf("orientation %d: %v at %v is part %d", turn, is, p, i)
			}
		}
	}
}

func TestMetadataIsRemoved(t *testing.T) {
	c := converter(t)
	plain := encoded(t, picture(40, 30), "png")
	end := len(plain) - 12
	chunked := bytes.Join([][]byte{
		plain[:33], pngChunk("tEXt", "Comment\x00SECRET-PLACE"), pngChunk("eXIf", string(exif(1))), plain[33:end],
		pngChunk("tIME", "SECRET-"), plain[end:],
	}, nil)
	webp := encodedWebP()
	for name, data := range map[string][]byte{
		"JPEG": withExif(t, encoded(t, picture(40, 30), "jpeg"), 1), "PNG": chunked, "WebP": webp,
		"large JPEG": withExif(t, encoded(t, picture(400, 300), "jpeg"), 1), "turned JPEG": withExif(t, encoded(t, picture(40, 30), "jpeg"), 3),
	} {
		form := common
		form.Types = append(form.Types[:2:2], "image/webp")
		got, err := c.Image(t.Context(), data, form)
		if err != nil || !bytes.Contains(data, []byte("SECRET-")) || bytes.Contains(got.Data, []byte("SECRET-")) {
			t.Errorf("%s: %v, has %d bytes of %d", name, err, len(got.Data), len(data))
			continue
		}
		if name != "WebP" { // the smallest file has one pixel, of which the decoder is told below
			decoded(t, got)
		} else if w, h, ok := media.Size(got.Data); !ok || w != 1 || h != 1 || got.Data[20] != 0 {
			t.Errorf("%s: %d × %d, flags %x", name, w, h, got.Data[20])
		}
	}
}

// encodedWebP is an extended WebP file of one pixel with EXIF, whose orientation is 1.
func encodedWebP() []byte {
	chunk := func(kind string, content []byte) []byte {
		b := binary.LittleEndian.AppendUint32([]byte(kind), uint32(len(content)))
		b = append(b, content...)
		if len(content)%2 == 1 {
			b = append(b, 0)
		}
		return b
	}
	pixel := []byte("\x2f\x00\x00\x00\x00\x07\x10\xfd\x8f\xfe\x07\x22\xa2\xff\x01")
	body := bytes.Join([][]byte{
		[]byte("WEBP"), chunk("VP8X", []byte{1 << 3, 0, 0, 0, 0, 0, 0, 0, 0, 0}), chunk("VP8L", pixel), chunk("EXIF", exif(1)),
	}, nil)
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

func TestWhatIsNoImageIsRefused(t *testing.T) {
	c := converter(t)
	whole := encoded(t, picture(200, 200), "png")
	for name, data := range map[string][]byte{
		"nothing": nil, "text": []byte("hello"), "half an image": whole[:len(whole)/2], "a header": whole[:33],
		"SVG": []byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`),
	} {
		var refused *media.Error
		if _, err := c.Image(t.Context(), data, common); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, ok := media.Size(whole); !ok {
		t.Error("an image has no size")
	}
}

func BenchmarkScale(b *testing.B) {
	data := encoded(b, picture(4000, 3000), "jpeg")
	for i := 0; b.Loop(); i++ {
		if _, err := converter(b).Image(b.Context(), data, common); err != nil {
			b.Fatal(fmt.Errorf("%d: %w", i, err))
		}
	}
}

// TestNothingBehindOrBetweenIsPassedOn hides a text where it is no metadata that is known: the image is encoded again.
func TestNothingBehindOrBetweenIsPassedOn(t *testing.T) {
	c := converter(t)
	photo, drawing := encoded(t, picture(40, 30), "jpeg"), encoded(t, picture(40, 30), "png")
	secret := "SECRET-PLACE"
	comment := append([]byte("\x21\xFE\x0C"+secret), 0)
	animation := encoded(t, picture(40, 30), "gif")
	end := len(drawing) - 12 // of the last chunk
	for name, data := range map[string][]byte{
		"behind a JPEG":             append(bytes.Clone(photo), secret...),
		"a comment behind scans":    bytes.Join([][]byte{photo[:len(photo)-2], []byte("\xFF\xFE\x00\x0E" + secret + "\xFF\xD9")}, nil),
		"a list of pictures":        bytes.Join([][]byte{photo[:2], []byte("\xFF\xE2\x00\x0E" + secret), photo[2:]}, nil),
		"behind a PNG":              append(bytes.Clone(drawing), secret...),
		"a private chunk":           bytes.Join([][]byte{drawing[:end], pngChunk("prVt", secret), drawing[end:]}, nil),
		"a comment in an animation": bytes.Join([][]byte{animation[:len(animation)-1], comment, {0x3B}}, nil),
	} {
		if !bytes.Contains(data, []byte(secret)) {
			t.Fatal(name)
		}
		got, err := c.Image(t.Context(), data, media.Form{Types: []string{"image/png", "image/jpeg", "image/gif"}})
		if err != nil || bytes.Contains(got.Data, []byte(secret)) {
			t.Errorf("%s: is passed on, %v", name, err)
			continue
		}
		decoded(t, got)
	}
}

// TestKnownImagesNeedNoFile checks that a converted image is found by the sum of its file.
func TestKnownImagesNeedNoFile(t *testing.T) {
	c := converter(t)
	data := encoded(t, picture(400, 300), "png")
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	if _, ok := c.Known(sum, common); ok {
		t.Error("it was not converted")
	}
	want, err := c.Image(t.Context(), data, common)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := c.Known(sum, common); !ok || !bytes.Equal(got.Data, want.Data) || got.MediaType != want.MediaType {
		t.Errorf("%t, %s", ok, got.MediaType)
	}
}
