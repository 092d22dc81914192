package media_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/media"
)

// document is a PDF document of some objects, the first of which is its catalog.
func document(trailer string, objects ...string) []byte {
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

const font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"

func stream(content string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(content), content)
}

func deflated(content string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(content))
	_ = w.Close()
	return fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", b.Len(), b.String())
}

// pages is a document with a page for each text.
func pages(texts ...string) []byte {
	kids := make([]string, len(texts))
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "", font}
	for i, text := range texts {
		n := len(objects) + 1
		kids[i] = fmt.Sprintf("%d 0 R", n)
		objects = append(objects, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>", n+1),
			deflated("BT /F1 12 Tf 72 720 Td ("+text+") Tj ET"))
	}
	objects[1] = fmt.Sprintf("<< /Type /Pages /Kids [%s] /Count %d >>", strings.Join(kids, " "), len(texts))
	return document("", objects...)
}

func TestTextOfDocuments(t *testing.T) {
	c := converter(t)
	many := make([]string, 600)
	for i := range many {
		many[i] = fmt.Sprint("number ", i)
	}
	long := strings.Repeat("word ", 300_000)
	for _, row := range []struct {
		name string
		data []byte
		has  []string
		err  string
	}{
		{name: "two pages", data: pages("The order number is 4711.", "Second page"), has: []string{
			"[page 1]\nThe order number is 4711.", "[page 2]\nSecond page",
		}},
		{name: "many pages", data: pages(many...), has: []string{"number 499", "[cut: the document has more than 500 pages]"}},
		{name: "much text", data: pages(long), has: []string{"word word", "[cut: the text is longer]"}},
		{name: "a scan", data: pages("", ""), err: "no text"},
		{name: "encrypted", data: document(
			"/Encrypt << /Filter /Standard /V 1 /R 2 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") /P -1 >> /ID [(a) (b)]",
			"<< /Type /Catalog >>"), err: "encrypted"},
		{name: "not a document", data: []byte("%PDF-1.4 hello"), err: "damaged"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := c.PDFText(t.Context(), row.data)
			if row.err != "" {
				var refused *media.Error
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), row.err) {
					t.Errorf("%q, %v", text, err)
				}
				return
			}
			for _, want := range row.has {
				if !strings.Contains(text, want) {
					t.Errorf("%v: %.200q lacks %q", err, text, want)
				}
			}
			if len(text) > 1<<20+100 {
				t.Errorf("the text has %d bytes", len(text))
			}
		})
	}
}
