package parse_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

func TestMediaType(t *testing.T) {
	word, slides, sheet := wordFile(t, wordBody), slideFile(t, ""), sheetFile(t, "")
	const office = "application/vnd.openxmlformats-officedocument."
	encrypted := "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1..E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00"
	for _, row := range []struct{ name, declared, data, want, refused string }{
		{name: "a.md", data: "# a", want: "text/markdown"},
		{name: "A.MD", declared: "text/plain", data: "# a", want: "text/markdown"},
		{name: "a.txt", declared: "text/markdown", data: "# a", want: "text/markdown"},
		{name: "a.md", declared: "application/octet-stream", data: "# a", want: "text/markdown"},
		{name: "a", data: "<!DOCTYPE html><p>a", want: "text/html"},
		{name: "a", data: "a", want: "text/plain"},
		{name: "a.odd", data: "a", want: "text/plain"},
		{name: "a.csv", declared: "text/csv; charset=windows-1252", data: "a,b", want: "text/csv; charset=windows-1252"},
		{name: "a/Makefile", data: "all:", want: "text/x-makefile"},
		{name: "a.go", data: "package a", want: "text/x-go"},
		{name: "a.pdf", data: "%PDF-1.4", want: "application/pdf"},
		{name: "a", data: "%PDF-1.4", want: "application/pdf"},
		{name: "a.docx", data: string(word), want: office + "wordprocessingml.document"},
		{
			name: "a.docm", declared: "application/vnd.ms-word.document.macroEnabled.12", data: string(word),
			want: office + "wordprocessingml.document",
		},
		{name: "a", declared: "application/zip", data: string(slides), want: office + "presentationml.presentation"},
		{name: "a", data: string(sheet), want: office + "spreadsheetml.sheet"},
		{name: "a.txt", data: "\xff\xfea\x00", want: "text/plain"},

		{name: "a.pdf", declared: "application/pdf", data: "a text", refused: "is declared as application/pdf, but its content is text"},
		{name: "a.pdf", data: "a text", refused: "is named like application/pdf, but its content is text"},
		{name: "a.txt", declared: "text/plain", data: "%PDF-1.4", refused: "is declared as text/plain, but its content is application/pdf"},
		{name: "a.docx", declared: office + "spreadsheetml.sheet", data: string(word), refused: "but its content is"},
		{name: "a.txt", declared: "nonsense", data: "a", refused: "not a media type"},
		{name: "a.zip", data: "PK\x03\x04a", refused: "application/zip, which cannot be read"},
		{name: "a.doc", data: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", refused: "Office 2003"},
		{name: "a.docx", data: encrypted, refused: "without a password"},
		{name: "a.png", data: "\x89PNG\r\n\x1a\n", refused: "image/png"},
		{name: "a.txt", data: "a\x00b", refused: "cannot be read"},
		{name: "a.txt", data: " \n", refused: "is empty"},
		{name: "a.txt", data: strings.Repeat("a", parse.MaxData+1), refused: "more than 64 MiB"},
	} {
		got, err := parse.MediaType(row.name, row.declared, []byte(row.data))
		if row.refused == "" && (err != nil || got != row.want) {
			t.Errorf("%s, %q: %q, %v; want %q", row.name, row.declared, got, err, row.want)
		}
		if refused, ok := errors.AsType[*parse.Error](err); row.refused != "" && (!ok || !strings.Contains(refused.Text, row.refused)) {
			t.Errorf("%s, %q: %q, %v; want %q", row.name, row.declared, got, err, row.refused)
		}
	}
}

func TestCharacterSets(t *testing.T) {
	for _, row := range []struct{ name, declared, data, want, refused string }{
		{name: "a.txt", data: "caf\xc3\xa9", want: "café"},
		{name: "a.txt", declared: "text/plain; charset=windows-1252", data: "caf\xe9 \x93x\x94", want: "café “x”"},
		{name: "a.txt", declared: "text/plain; charset=ISO-8859-1", data: "caf\xe9", want: "café"},
		{name: "a.txt", declared: "text/plain; charset=windows-1251", data: "\xcf\xf0", want: "Пр"},
		{name: "a.html", data: `<meta charset="windows-1252"><p>caf` + "\xe9", want: "café"},
		{name: "a.txt", data: "caf\xe9", refused: "declare its character set"},
		{name: "a.txt", declared: "text/plain; charset=odd", data: "caf\xe9", refused: "save it as UTF-8"},
	} {
		d, err := parse.Read(parse.Input{Name: row.name, MediaType: row.declared, Data: []byte(row.data)})
		if row.refused == "" && (err != nil || d.Text != row.want) {
			t.Errorf("%s %q: %q, %v", row.declared, row.data, d.Text, err)
		}
		if row.refused != "" && (err == nil || !strings.Contains(err.Error(), row.refused)) {
			t.Errorf("%s %q: %q, %v", row.declared, row.data, d.Text, err)
		}
	}
}
