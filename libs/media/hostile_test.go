package media_test

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/testmain"
)

// ihdr is the beginning of a PNG file.
func ihdr(w, h uint32, depth, kind byte) []byte {
	content := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, w), h)
	return append([]byte("\x89PNG\r\n\x1a\n"), pngChunk("IHDR", string(append(content, depth, kind, 0, 0, 0)))...)
}

// zeros is n bytes, compressed.
func zeros(n int) string {
	var b bytes.Buffer
	w, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	piece := make([]byte, 1<<16)
	for ; n > 0; n -= len(piece) {
		_, _ = w.Write(piece[:min(n, len(piece))])
	}
	_ = w.Close()
	return b.String()
}

// blank is a PNG image of zeros of 8 or 16 bits and some channels.
func blank(w, h int, depth, kind byte, channels int) []byte {
	return bytes.Join([][]byte{
		ihdr(uint32(w), uint32(h), depth, kind), pngChunk("IDAT", zeros(h*(1+w*channels*int(depth)/8))), pngChunk("IEND", ""),
	}, nil)
}

// sof is a JPEG file with the size of an image and little else.
func sof(w, h uint16, progressive bool) []byte {
	marker := byte(0xC0)
	if progressive {
		marker = 0xC2
	}
	b := []byte{0xFF, 0xD8, 0xFF, marker, 0, 17, 8}
	b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, h), w)
	return append(b, 3, 1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0, 0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0, 0xFF, 0xD9)
}

// hostile is files that are made to exhaust or to confuse what reads them, by name.
func hostile(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	hostileImages(t, out)
	hostileDocuments(t, out)
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("bomb")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(make([]byte, 64<<20))
	_ = z.Close()
	maps.Copy(out, map[string][]byte{
		"zip bomb": archive.Bytes(), "gzip": []byte("\x1f\x8b\x08\x00"), "ELF": []byte("\x7fELF\x02\x01\x01"), "MZ": []byte("MZ\x90\x00"),
		"script": []byte("#!/bin/sh\nrm -rf /"), "XML bomb": []byte(`<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><l>&b;</l>`),
		"nothing": {}, "one byte": {0xFF}, "text": []byte("a"), "NULs": make([]byte, 1<<20),
	})
	return out
}

func hostileImages(t testing.TB, out map[string][]byte) {
	for _, size := range [][2]uint32{
		{60_000, 60_000},
		{1, 60_000},
		{60_000, 1},
		{1 << 31, 1},
		{0, 0},
		{1<<31 - 1, 1<<31 - 1},
		{50_000_000, 1},
		{7000, 7000},
		{0, 7},
		{8000, 8000},
	} {
		w, h := size[0], size[1]
		out[fmt.Sprintf("PNG header %d × %d", w, h)] = append(ihdr(w, h, 8, 6), pngChunk("IDAT", zeros(1<<20))...)
		out[fmt.Sprintf("JPEG header %d × %d", w, h)] = sof(uint16(w), uint16(h), false)
		out[fmt.Sprintf("progressive JPEG header %d × %d", w, h)] = sof(uint16(w), uint16(h), true)
		g := binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint16([]byte("GIF89a"), uint16(w)), uint16(h))
		out[fmt.Sprintf("GIF header %d × %d", w, h)] = append(g, 0, 0, 0, ',', 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 8, 1, 0, 0, ';')
		b := append([]byte("BM\x00\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00"), binary.LittleEndian.AppendUint32(
			binary.LittleEndian.AppendUint32(nil, w), h)...)
		out[fmt.Sprintf("BMP header %d × %d", w, h)] = append(b, append([]byte{1, 0, 24}, make([]byte, 40)...)...)
		x := []byte{1 << 4, 0, 0, 0, byte(w), byte(w >> 8), byte(w >> 16), byte(h), byte(h >> 8), byte(h >> 16)}
		out[fmt.Sprintf("WebP canvas %d × %d", w, h)] = webp("VP8X", x, "VP8L", []byte("\x2f\xff\xff\xff\xff\x07\x10\xfd"))
		lossless := binary.LittleEndian.AppendUint32([]byte{0x2f}, (w-1)&0x3FFF|((h-1)&0x3FFF)<<14)
		out[fmt.Sprintf("WebP lossless %d × %d", w, h)] = webp("VP8L", append(lossless, make([]byte, 64)...))
		tiff := []byte("II\x2a\x00\x08\x00\x00\x00\x04\x00")
		for _, field := range [][2]uint32{{256, w}, {257, h}, {258, 8}, {278, h}} {
			tiff = binary.LittleEndian.AppendUint16(tiff, uint16(field[0]))
			tiff = binary.LittleEndian.AppendUint32(append(tiff, 4, 0, 1, 0, 0, 0), field[1])
		}
		out[fmt.Sprintf("TIFF header %d × %d", w, h)] = append(tiff, 0, 0, 0, 0)
	}
	out["PNG bomb of 49 million pixels"] = blank(7000, 7000, 8, 0, 1)
	out["PNG bomb of 16 bits"] = blank(6000, 6000, 16, 6, 4)
	out["PNG line"] = blank(1, 60_000, 8, 6, 4)
	out["PNG with a text bomb"] = slices.Concat(ihdr(10, 10, 8, 0), pngChunk("zTXt", "a\x00\x00"+zeros(64<<20)), pngChunk("IDAT", zeros(110)),
		pngChunk("IEND", ""))
	out["PNG with too much data"] = slices.Concat(ihdr(10, 10, 8, 0), pngChunk("IDAT", zeros(64<<20)), pngChunk("IEND", ""))
	frames := &gif.GIF{}
	for range 500 {
		frames.Image = append(frames.Image, image.NewPaletted(image.Rect(0, 0, 200, 200), color.Palette{color.Black, color.White}))
		frames.Delay = append(frames.Delay, 0)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, frames); err != nil {
		t.Fatal(err)
	}
	out["GIF of 500 pictures"] = b.Bytes()
	damaged(out, "PNG", encoded(t, picture(300, 200), "png"))
	damaged(out, "JPEG", withExif(t, encoded(t, picture(300, 200), "jpeg"), 6))
	damaged(out, "GIF", encoded(t, picture(300, 200), "gif"))
	damaged(out, "BMP", encoded(t, picture(30, 20), "bmp"))
	damaged(out, "WebP", encodedWebP())
}

func webp(kindsAndContents ...any) []byte {
	body := []byte("WEBP")
	for i := 0; i < len(kindsAndContents); i += 2 {
		kind, content := kindsAndContents[i].(string), kindsAndContents[i+1].([]byte)
		body = binary.LittleEndian.AppendUint32(append(body, kind...), uint32(len(content)))
		body = append(body, content...)
	}
	return append(binary.LittleEndian.AppendUint32([]byte("RIFF"), uint32(len(body))), body...)
}

// damaged adds parts of a file, and the file with other bytes.
func damaged(out map[string][]byte, name string, data []byte) {
	random := rand.New(rand.NewPCG(1, uint64(len(data))))
	for n := range 8 {
		out[fmt.Sprintf("%s cut at %d/8", name, n)] = data[:len(data)*n/8]
		changed := slices.Clone(data)
		for range 1 + len(data)/200 {
			changed[random.IntN(len(changed))] = byte(random.Uint32())
		}
		out[fmt.Sprintf("%s with other bytes %d", name, n)] = changed
		twice := slices.Concat(data[:len(data)/2], data[random.IntN(len(data)):])
		out[fmt.Sprintf("%s with a part moved %d", name, n)] = twice
	}
}

// otherDay reports whether a file is one of the damaged files of another day: each day has two of eight.
func otherDay(name string, _ []byte) bool {
	n := numbered.FindStringSubmatch(name)
	share, ok := testmain.Share("damaged", 4)
	return ok && n != nil && int(n[1][0]-'0')%4 != share
}

var numbered = regexp.MustCompile(`(?:cut at|other bytes|part moved) (\d)`)

func hostileDocuments(t testing.TB, out map[string][]byte) {
	t.Helper()
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	page := func(contents string) []byte {
		return document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>", contents)
	}
	maps.Copy(out, map[string][]byte{
		"PDF whose pages are its own": document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"),
		"PDF whose parent is its own": document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Page /Parent 2 0 R >>"),
		"PDF of a billion pages":      document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [] /Count 1000000000 >>"),
		"PDF with deep lists":         document("", nested("[", "]", 1_000_000)),
		"PDF with deep tables":        document("", nested("<< /a ", ">>", 500_000)),
		"PDF with a deep trailer":     document("/a "+nested("[", "]", 1_000_000), "<< /Type /Catalog >>"),
		"PDF with deep text":          page(stream("BT (" + nested("(", ")", 1_000_000) + ") Tj ET")),
		"PDF bomb":                    page("<< /Length 4 0 R /Filter /FlateDecode >>\nstream\n" + zeros(1<<30) + "\nendstream"),
		"PDF bomb in bombs":           page("<< /Filter [/FlateDecode /FlateDecode] >>\nstream\n" + deflatedTwice() + "\nendstream"),
		"PDF with many operands":      page(deflated(strings.Repeat("1 ", 5_000_000))),
		"PDF that shows much":         page(deflated("BT " + strings.Repeat("(aaaaaaaa) Tj ", 2_000_000) + "ET")),
		"PDF with a predictor": page("<< /Filter /FlateDecode /DecodeParms << /Predictor 12 /Columns 2000000000 >> >>\nstream\n" +
			zeros(99) + "\nendstream"),
		"PDF with a stream of itself":  document("", "<< /Type /Catalog /Pages 1 0 R /Length 1 0 R >>"),
		"PDF with a table far away":    []byte("%PDF-1.4\nstartxref\n99999999999\n%%EOF\n"),
		"PDF with a table before it":   []byte("%PDF-1.4\nstartxref\n-5\n%%EOF\n"),
		"PDF whose tables are a cycle": []byte("%PDF-1.4\nxref\n0 0\ntrailer\n<< /Size 1 /Prev 9 /Root 1 0 R >>\nstartxref\n9\n%%EOF\n"),
		"PDF with a huge table":        []byte("%PDF-1.4\nxref\n0 2000000000\ntrailer\n<< /Size 2000000000 >>\nstartxref\n9\n%%EOF\n"),
		"PDF with a cyclic font": document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>", deflated("BT /F1 1 Tf (a) Tj ET"),
			"<< /Type /Font /Encoding 5 0 R /ToUnicode 5 0 R /DescendantFonts [5 0 R] >>"),
		"PDF with odd maps": document("", "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>", deflated("BT /F1 1 Tf <00> Tj ET"),
			"<< /Type /Font /ToUnicode 6 0 R >>", deflated("begincmap 1 begincodespacerange <00> <FFFFFFFF> endcodespacerange "+
				"1 beginbfrange <0000> <FFFF> <00000000> endbfrange endcmap")),
		"PDF that is encrypted": document(
			"/Encrypt << /Filter /Standard /V 4 /R 4 /Length 128 /O (a) /U (b) /P -1 >> /ID [(a) (b)]", "<< /Type /Catalog >>"),
		"PDF with an odd cipher": document("/Encrypt << /Filter /Standard /V 99 /R -7 /Length -8 >>", "<< /Type /Catalog >>"),
	})
	damaged(out, "PDF", pages("one", "two", "three"))
	damaged(out, "PDF with streams", pages(strings.Repeat("word ", 1000)))
}

func deflatedTwice() string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(zeros(256 << 20)))
	_ = w.Close()
	return b.String()
}

// TestHostileFiles converts files that are made to exhaust or to confuse. Each comes to an end, with a form or with a refusal that says
// why, and this process allocates little more than the file and its answer have. What decodes them has limits of memory and time. Of the
// damaged files, CI tries those of the day (testmain.Share).
func TestHostileFiles(t *testing.T) {
	files := hostile(t)
	if len(files) < 250 {
		t.Fatalf("%d files", len(files))
	}
	maps.DeleteFunc(files, otherDay)
	c := converter(t)
	form := media.Form{Types: []string{"image/png", "image/jpeg"}, MaxEdge: 64, MaxBytes: 1 << 20}
	taken := 0
	for name, data := range files {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := c.Image(t.Context(), data, form)
		if bytes.HasPrefix(data, []byte("%PDF")) {
			got.Data = nil
			var text string
			text, err = c.PDFText(t.Context(), data)
			got.Data = []byte(text)
		}
		runtime.ReadMemStats(&after)
		const most = 8 << 20 // of the answer as it is read, and of headers
		if used := int(after.TotalAlloc - before.TotalAlloc); used > most+4*len(data)+8*len(got.Data) {
			t.Errorf("%s: %d bytes of memory for %d and %d bytes", name, used, len(data), len(got.Data))
		}
		var refused *media.Error
		switch {
		case err == nil && len(got.Data) > 0:
			taken++
		case !errors.As(err, &refused) || len(err.Error()) < 10 || len(err.Error()) > 300:
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d of %d files were converted", taken, len(files))
}
