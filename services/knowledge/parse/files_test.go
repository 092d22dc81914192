package parse_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// archive is a ZIP file of parts: names and contents by turns.
func archive(t testing.TB, namesAndContents ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(namesAndContents); i += 2 {
		w, err := z.Create(namesAndContents[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(namesAndContents[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	relType = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
	core    = `<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>A title</dc:title></cp:coreProperties>`
)

// relations is a part with relations: kinds and targets by turns, with the ids r1, r2, ….
func relations(kindsAndTargets ...string) string {
	var b strings.Builder
	b.WriteString("<Relationships>")
	for i := 0; i < len(kindsAndTargets); i += 2 {
		fmt.Fprintf(&b, `<Relationship Id="r%d" Type="%s%s" Target="%s"/>`, i/2+1, relType, kindsAndTargets[i], kindsAndTargets[i+1])
	}
	return b.String() + "</Relationships>"
}

// wordFile is a document of Word with a body.
func wordFile(t testing.TB, body string) []byte {
	return archive(t, "_rels/.rels", relations("officeDocument", "word/document.xml"), "docProps/core.xml", core,
		"word/_rels/document.xml.rels", relations("styles", "styles.xml", "footnotes", "footnotes.xml"),
		"word/styles.xml", `<w:styles><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>`+
			`<w:style w:styleId="Mine"><w:basedOn w:val="berschrift1"/></w:style></w:styles>`,
		"word/footnotes.xml", `<w:footnotes><w:footnote><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>`,
		"word/document.xml", `<?xml version="1.0" encoding="UTF-8"?><w:document><w:body>`+body+`</w:body></w:document>`)
}

const wordBody = `<w:p><w:pPr><w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>Setup</w:t></w:r></w:p>` +
	`<w:p><w:r><w:t xml:space="preserve">First </w:t></w:r><w:del><w:r><w:delText>old</w:delText></w:r></w:del>` +
	`<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>line</w:t><w:br/><w:t>second</w:t></w:r></w:p>` +
	`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>` +
	`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>Name</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>Role</w:t></w:r></w:p></w:tc></w:tr>` +
	`<w:tr><w:tc><w:p><w:r><w:t>Ada</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>engineer</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`

// slideFile is a presentation with slides.
func slideFile(t testing.TB, slides ...string) []byte {
	parts := []string{"_rels/.rels", relations("officeDocument", "ppt/presentation.xml")}
	var targets []string
	list := ""
	for i := range slides {
		n := len(slides) - i // the files are in another order than the slides
		targets = append(targets, "slide", fmt.Sprintf("slides/slide%d.xml", n))
		list += fmt.Sprintf(`<p:sldId id="%d" r:id="r%d"/>`, 256+i, i+1)
		parts = append(parts, fmt.Sprintf("ppt/slides/slide%d.xml", n), slides[i])
	}
	parts = append(parts, "ppt/presentation.xml", `<p:presentation><p:sldIdLst>`+list+`</p:sldIdLst></p:presentation>`,
		"ppt/_rels/presentation.xml.rels", relations(targets...),
		"ppt/slides/_rels/slide2.xml.rels", relations("notesSlide", "../notesSlides/n.xml"),
		"ppt/notesSlides/n.xml", `<p:notes>`+shape("body", "Say hello.")+shape("sldNum", "1")+`</p:notes>`)
	return archive(t, parts...)
}

func shape(role string, lines ...string) string {
	var b strings.Builder
	b.WriteString(`<p:sp><p:nvSpPr><p:nvPr>`)
	if role != "" {
		b.WriteString(`<p:ph type="` + role + `"/>`)
	}
	b.WriteString(`</p:nvPr></p:nvSpPr><p:txBody>`)
	for _, line := range lines {
		b.WriteString(`<a:p><a:r><a:t>` + line + `</a:t></a:r></a:p>`)
	}
	return b.String() + `</p:txBody></p:sp>`
}

// sheetFile is a workbook with one sheet that is shown.
func sheetFile(t testing.TB, rows string) []byte {
	return archive(t, "_rels/.rels", relations("officeDocument", "xl/workbook.xml"),
		"xl/workbook.xml", `<workbook><sheets><sheet name="People" r:id="r1"/><sheet name="Secret" state="hidden" r:id="r1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels",
		relations("worksheet", "worksheets/sheet1.xml", "sharedStrings", "sharedStrings.xml", "styles", "styles.xml"),
		"xl/sharedStrings.xml", `<sst><si><t>Name</t></si><si><r><t>Bor</t></r><r><t>n</t></r></si><si><t>Id</t></si><si><t>Ada</t></si></sst>`,
		"xl/styles.xml", `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/></numFmts>`+
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml", `<worksheet><sheetData>`+rows+`</sheetData></worksheet>`)
}

const sheetRows = `<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="D1" t="s"><v>2</v></c></row>` +
	`<row><c r="A2" t="s"><v>3</v></c><c r="B2" s="1"><v>45000</v></c><c r="D2"><v>9007199254740993</v></c></row>` +
	`<row><c r="A3" t="inlineStr"><is><t>Bob</t></is></c><c r="B3" s="2"><v>45000.5</v></c></row>`

// pdfFile is a PDF document with a page for each content stream.
func pdfFile(trailer string, contents ...string) []byte {
	kids := make([]string, len(contents))
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	for i, content := range contents {
		n := len(objects) + 1
		kids[i] = fmt.Sprintf("%d 0 R", n)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", n+1),
			fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(contents))
	return pdfOf(trailer, objects...)
}

// pdfOf is a PDF document of some objects, the first of which is its catalog.
func pdfOf(trailer string, objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	xref := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, trailer, xref)
	return b.Bytes()
}

const pdfPage = "BT /F1 12 Tf 72 720 Td (One line,) Tj 0 -14 Td (another) Tj 60 0 Td (word.) Tj 0 -40 Td [(Ta) 10 (ble) -400 (two)] TJ ET"
