package parse_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

// hostile is files that are made to exhaust or to confuse what reads them, by name; what follows a space is not part of the
// name of the file.
func hostile(t testing.TB) map[string][]byte {
	out := map[string][]byte{}
	hostileTexts(out)
	hostileOffice(t, out)
	hostilePDF(out)
	maps.Copy(out, map[string][]byte{
		"a.pdf lies": []byte("no document"), "a.docx lies": []byte("no document"), "a.txt ELF": []byte("\x7fELF\x02\x01\x01\x00"),
		"a.txt NULs": make([]byte, 1<<20), "a.txt nothing": {}, "a.txt half a mark": {0xff}, "a.txt a mark": {0xff, 0xfe},
		"a.txt odd":     {0xff, 0xfe, 0x00},
		"a.md script":   []byte("<script>alert(1)</script>"),
		"a.png picture": []byte("\x89PNG\r\n\x1a\n"), "a.gz packed": []byte("\x1f\x8b\x08\x00"),
		"a.txt lone halves": []byte("\xff\xfe\x00\xd8\x00\xd8\x00\xdc"), "a.docx old": []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
	})
	for _, row := range golden(t) {
		damaged(out, row.name, row.data)
	}
	return out
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
		out[fmt.Sprintf("%s with a part moved %d", name, n)] = slices.Concat(data[:len(data)/2], data[random.IntN(len(data)):])
	}
}

func hostileTexts(out map[string][]byte) {
	repeated := func(part string, n int) []byte { return []byte(strings.Repeat(part, n)) }
	maps.Copy(out, map[string][]byte{
		"a.md deep quotes":    repeated(">", 100_000),
		"a.md deep lists":     repeated("- ", 100_000),
		"a.md deeper lists":   []byte(staircase(2000)),
		"a.md open links":     repeated("[", 100_000),
		"a.md open pictures":  repeated("![a](", 50_000),
		"a.md stars":          repeated("*a_ ", 100_000),
		"a.md nested stars":   append(repeated("*a **b ", 5000), repeated("** *", 5000)...),
		"a.md backticks":      []byte(growing("`", 2000)),
		"a.md wide table":     []byte(strings.Repeat("|a", 5000) + "|\n" + strings.Repeat("|-", 5000) + "|\n" + strings.Repeat("|b\n", 5000)),
		"a.md yaml bomb":      []byte("---\na: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b]\n---\ntext"),
		"a.md references":     []byte(strings.Repeat("[a]: b\n", 50_000) + strings.Repeat("[a]", 50_000)),
		"a.html deep":         repeated("<div>", 1_000_000),
		"a.html deep bold":    repeated("<b><i><a>", 100_000),
		"a.html deep tables":  repeated("<table><tr><td>", 100_000),
		"a.html attributes":   []byte("<p " + string(repeated("a ", 200_000)) + ">text"),
		"a.html much":         repeated("<p>a", 600_000),
		"a.html not closed":   []byte("<!--" + strings.Repeat("-", 1<<20)),
		"a.html titles":       append(append([]byte("<title>"), repeated("a", 1<<20)...), "</title><p>a"...),
		"a.json deep":         repeated("[", 1_000_000),
		"a.json deep objects": repeated(`{"a":`, 500_000),
		"a.json long paths":   append(repeated(`{"`+strings.Repeat("k", 100_000)+`":`, 20), '1'),
		"a.json many":         []byte("[" + strings.Repeat("1,", 1_000_000) + "1]"),
		"a.json long number":  repeated("9", 1<<20),
		"a.json not closed":   []byte(`{"a":"` + strings.Repeat("a", 1<<20)),
		"a.csv wide":          repeated("a,", 100_000),
		"a.csv not closed":    append([]byte(`a,"`), repeated("b\n", 1<<20)...),
		"a.csv long header":   append(append(repeated("h", 1<<20), '\n'), repeated("a\n", 10_000)...),
		"a.txt many":          repeated("a\n\n", 600_000),
		"a.txt marks":         append([]byte("a"), repeated("\u0301", 100_000)...),
		"a.go lines":          repeated("\n\na", 600_000),
	})
}

func staircase(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", 2*i) + "- a\n")
	}
	return b.String()
}

func growing(part string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(part, i) + " ")
	}
	return b.String()
}

// costly adds the files that cost seconds to make.
func costly(t testing.TB, out map[string][]byte) {
	many := make([]string, 0, 50_000)
	for i := range 25_000 {
		many = append(many, fmt.Sprint(i, "word/document"), "")
	}
	maps.Copy(out, map[string][]byte{
		"a.docx bomb":         archive(t, "word/document.xml", strings.Repeat(" ", 300<<20)),
		"a.docx smaller bomb": archive(t, "word/document.xml", "<a>"+strings.Repeat("<w:p/>", 1<<20)+"</a>"),
		"a.docx many parts":   archive(t, many...),
		"a.xlsx long texts":   sheetFile(t, strings.Repeat(`<row><c t="s"><v>3</v></c></row>`, 1<<20)),
		"a.txt one line":      bytes.Repeat([]byte("a"), 33<<20),
	})
}

// lying is an archive with a part that is larger than the archive says.
func lying(t testing.TB) []byte {
	t.Helper()
	content := archive(t, "a", strings.Repeat("a", 1<<20))
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := z.File[0].OpenRaw()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	header := zip.FileHeader{Name: "word/document.xml", Method: zip.Deflate, UncompressedSize64: 10}
	header.CompressedSize64 = z.File[0].CompressedSize64
	header.CRC32 = crc32.ChecksumIEEE([]byte("a"))
	part, err := w.CreateRaw(&header)
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	if _, err := compressed.ReadFrom(raw); err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(compressed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hostileOffice(t testing.TB, out map[string][]byte) {
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	word := func(content string) []byte { return archive(t, "word/document.xml", content) }
	slides := strings.Repeat(`<p:sldId r:id="r1"/>`, 100_000)
	sheets := strings.Repeat(`<sheet name="a" r:id="r1"/>`, 100_000)
	maps.Copy(out, map[string][]byte{
		"a.docx lying sizes":   lying(t),
		"a.docx entities":      word(`<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><l>&b;</l>`),
		"a.docx outside":       word(`<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]><l>&a;</l>`),
		"a.docx deep":          word(nested("<a>", "</a>", 1_000_000)),
		"a.docx deep tables":   word(nested("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 10_000)),
		"a.docx not closed":    word("<a><w:p><w:r><w:t>text"),
		"a.docx crossed":       word("<a><b></a></b>"),
		"a.docx attributes":    word("<a " + strings.Repeat(`b="c" `, 100_000) + "/>"),
		"a.docx twice":         archive(t, "word/document.xml", "<a/>", "word/document.xml", "<a/>"),
		"a.docx no document":   archive(t, "word/document2", "<a/>"),
		"a.docx itself":        archive(t, "_rels/.rels", relations("officeDocument", "_rels/.rels"), "word/document.xml", ""),
		"a.docx far away":      archive(t, "_rels/.rels", relations("officeDocument", "../../../../etc/passwd"), "word/document.xml", "<a/>"),
		"a.docx own styles":    wordFile(t, `<w:p><w:pPr><w:pStyle w:val="Mine"/><w:outlineLvl w:val="-7"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>`),
		"a.docx other charset": word(`<?xml version="1.0" encoding="utf-7"?><w:p><w:r><w:t>a</w:t></w:r></w:p>`),
		"a.docx zip in zip":    word(string(word("<a/>"))),
		"a.pptx many slides": archive(t, "ppt/presentation.xml", "<a>"+slides+"</a>",
			"ppt/_rels/presentation.xml.rels", relations("slide", "s.xml"),
			"ppt/s.xml", "<p:sld>"+shape("title", "a")+"</p:sld>"),
		"a.pptx deep": archive(t, "ppt/presentation.xml", nested("<a>", "</a>", 100_000)),
		"a.xlsx many sheets": archive(t, "xl/workbook.xml", "<a>"+sheets+"</a>", "xl/_rels/workbook.xml.rels", relations("worksheet", "s.xml"),
			"xl/s.xml", `<a><row><c><v>1</v></c></row></a>`),
		"a.xlsx far columns":  sheetFile(t, `<row><c r="ZZZZZZZZZZZZZZ1"><v>1</v></c></row>`),
		"a.xlsx last columns": sheetFile(t, strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 10_000)),
		"a.xlsx odd texts":    sheetFile(t, `<row><c t="s"><v>-1</v></c><c t="s"><v>99</v></c><c s="-1"><v>1e400</v></c><c s="1"><v>NaN</v></c></row>`),
	})
}

func hostilePDF(out map[string][]byte) {
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	kids := strings.Repeat("3 0 R ", 100_000)
	page := "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
	const catalog = "<< /Type /Catalog /Pages 2 0 R >>"
	maps.Copy(out, map[string][]byte{
		"a.pdf 100,000 pages": pdfOf("", catalog, "<< /Type /Pages /Kids ["+kids+"] /Count 100000 >>", page,
			"<< /Length 9 >>\nstream\nBT (a) Tj\nendstream"),
		"a.pdf own pages":   pdfOf("", catalog, "<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 9 >>"),
		"a.pdf own parent":  pdfOf("", catalog, "<< /Type /Page /Parent 2 0 R >>"),
		"a.pdf deep lists":  pdfOf("", nested("[", "]", 1_000_000)),
		"a.pdf deep text":   pdfFile("", "BT ("+nested("(", ")", 1_000_000)+") Tj ET"),
		"a.pdf operands":    pdfFile("", strings.Repeat("1 ", 1_000_000)),
		"a.pdf shows much":  pdfFile("", "BT /F1 1 Tf "+strings.Repeat("(aaaaaaaa) Tj ", 500_000)+"ET"),
		"a.pdf odd numbers": pdfFile("", "BT /F1 1e308 Tf 1e308 0 0 1e308 1e308 1e308 Tm (a) Tj 0 0 Td (b) Tj /F9 0 Tf (c) Tj [1e308 (d)] TJ ET"),
		"a.pdf encrypted": pdfFile("/Encrypt << /Filter /Standard /V 1 /R 2 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+
			") /P -1 >> /ID [(a) (b)]", pdfPage),
		"a.pdf odd cipher": pdfFile("/Encrypt << /Filter /Standard /V 99 /R -7 /Length -8 >>", pdfPage),
		"a.pdf far table":  []byte("%PDF-1.4\nstartxref\n99999999999\n%%EOF\n"),
		"a.pdf cyclic":     []byte("%PDF-1.4\nxref\n0 0\ntrailer\n<< /Size 1 /Prev 9 /Root 1 0 R >>\nstartxref\n9\n%%EOF\n"),
		"a.pdf huge table": []byte("%PDF-1.4\nxref\n0 2000000000\ntrailer\n<< /Size 2000000000 >>\nstartxref\n9\n%%EOF\n"),
		"a.pdf script": pdfOf("", "<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS (app.alert(1)) >> >>",
			"<< /Type /Pages /Kids [] >>"),
		"a.pdf a scan": pdfFile("", "", ""),
		"a.pdf cyclic font": pdfOf("", catalog, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
			"<< /Type /Page /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>",
			"<< /Length 23 >>\nstream\nBT /F1 1 Tf (a) Tj ET  \nendstream",
			"<< /Type /Font /Subtype /Type0 /Encoding 5 0 R /ToUnicode 5 0 R /DescendantFonts [5 0 R] /W [0 2000000000 1 0 2000000000 1] >>"),
	})
}

// sample is the files that CI tries: those that cost little, and one damaged file of each kind.
func sample(files map[string][]byte) map[string][]byte {
	cheap := []string{
		"a.docx lying sizes", "a.docx entities", "a.docx outside", "a.docx crossed", "a.docx itself", "a.xlsx far columns", "a.pdf own pages",
		"a.pdf encrypted", "a.pdf odd numbers", "a.pdf lies", "a.json deep", "a.md deep quotes", "a.md yaml bomb", "a.html deep", "a.txt NULs",
	}
	out := map[string][]byte{}
	for name, data := range files {
		if slices.Contains(cheap, name) || strings.HasSuffix(name, "with other bytes 3") {
			out[name] = data
		}
	}
	return out
}

// TestHostileDocuments reads files that are made to exhaust or to confuse. Each comes to an end, with a text or with a
// refusal that says why,
// and this process allocates little more than the file and its text have. What reads them has limits of memory and time. CI tries a sample;
// WINDLASS_TEST_WHOLE=1 (make chaos, make nightly) tries all.
func TestHostileDocuments(t *testing.T) {
	files := hostile(t)
	if len(files) < 300 {
		t.Fatalf("%d files", len(files))
	}
	if !testmain.Whole() {
		files = sample(files)
	} else {
		costly(t, files)
	}
	p := parse.New()
	read := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		data := files[name]
		file, _, _ := strings.Cut(name, " ")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := p.Parse(t.Context(), parse.Input{Name: file, Data: data})
		runtime.ReadMemStats(&after)
		const most = 8 << 20
		if used := int(after.TotalAlloc - before.TotalAlloc); used > most+8*len(data)+8*len(d.Text)+200*len(d.Blocks) {
			t.Errorf("%s: %d bytes of memory for %d and %d bytes", name, used, len(data), len(d.Text))
		}
		refused, ok := errors.AsType[*parse.Error](err)
		switch {
		case err == nil && d.Text != "":
			read++
			wellFormed(t, d)
		case !ok || len(refused.Text) < 8 || len(refused.Text) > 300:
			t.Errorf("%s: %v", name, err)
		default:
			t.Logf("%s %s", name, refused.Text)
		}
	}
	t.Logf("%d of %d files have text", read, len(files))
}

// FuzzTexts reads texts of all kinds.
func FuzzTexts(f *testing.F) {
	names := []string{"a.md", "a.html", "a.txt", "a.csv", "a.json", "a.go"}
	for _, row := range golden(f) {
		for n, name := range names {
			if name == row.name {
				f.Add(n, row.data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, n int, data []byte) { readOrRefuse(t, names[uint(n)%uint(len(names))], data) })
}

// FuzzOffice reads parts of documents of Office.
func FuzzOffice(f *testing.F) {
	f.Add(0, wordBody)
	f.Add(1, `<p:sld>`+shape("title", "Hello")+`</p:sld>`)
	f.Add(2, sheetRows)
	f.Fuzz(func(t *testing.T, n int, content string) {
		switch uint(n) % 3 {
		case 0:
			readOrRefuse(t, "a.docx", wordFile(t, content))
		case 1:
			readOrRefuse(t, "a.pptx", slideFile(t, content))
		default:
			readOrRefuse(t, "a.xlsx", sheetFile(t, content))
		}
	})
}

func readOrRefuse(t *testing.T, name string, data []byte) {
	d, err := parse.Read(parse.Input{Name: name, Data: data})
	if err == nil {
		wellFormed(t, d)
	} else if _, ok := errors.AsType[*parse.Error](err); !ok {
		t.Errorf("%v", err)
	}
}
