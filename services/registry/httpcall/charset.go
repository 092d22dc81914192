package httpcall

import (
	"bytes"
	"fmt"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// marks are byte order marks and the encodings that they stand for. That of UTF-32 begins like that of UTF-16.
var marks = []struct{ mark, name string }{
	{"\xEF\xBB\xBF", "utf-8"},
	{"\xFF\xFE\x00\x00", "utf-32"},
	{"\x00\x00\xFE\xFF", "utf-32"},
	{"\xFE\xFF", "utf-16be"},
	{"\xFF\xFE", "utf-16le"},
}

// xmlEncoding is the encoding that an XML document names in its first line.
var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}\sencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

// toUTF8 returns a text as UTF-8 without a byte order mark. The encoding is the one of its mark, of the Content-Type, or of the document
// itself; without any it is UTF-8. A text that cannot be read is returned as it is, with the reason.
func toUTF8(contentType string, body []byte) (_ []byte, why string) {
	name := encodingOf(contentType, body)
	for _, m := range marks {
		if rest, ok := bytes.CutPrefix(body, []byte(m.mark)); ok {
			return decode(m.name, rest, body)
		}
	}
	return decode(name, body, body)
}

func encodingOf(contentType string, body []byte) string {
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["charset"] != "" {
		return strings.ToLower(params["charset"])
	}
	if m := xmlEncoding.FindSubmatch(body[:min(len(body), 512)]); m != nil {
		return strings.ToLower(string(m[1]))
	}
	if isHTML(mediaOf(contentType)) { // windows-1252 is what browsers fall back to
		if _, name, _ := charset.DetermineEncoding(body, contentType); name != "windows-1252" || !utf8.Valid(body) {
			return name
		}
	}
	return "utf-8"
}

// decode reads a text in a named encoding. The whole body is returned if it cannot.
func decode(name string, text, body []byte) ([]byte, string) {
	switch {
	case name == "us-ascii": // what is more than that is UTF-8 or nothing
		name = "utf-8"
	case name == "utf-16" && len(text) > 1 && text[0] == 0: // browsers take it for little-endian whatever it is
		name = "utf-16be"
	}
	e, canonical := encodingNamed(name)
	switch {
	case canonical == "utf-8" || e == nil && utf8.Valid(text):
		if !utf8.Valid(text) {
			return body, "its bytes are not UTF-8"
		}
		return text, ""
	case e == nil:
		return body, fmt.Sprintf("its charset %q is not known", shorten(name))
	}
	decoded, err := e.NewDecoder().Bytes(text)
	if err != nil || bytes.ContainsRune(decoded, utf8.RuneError) {
		return body, fmt.Sprintf("its bytes are not %s", shorten(name))
	}
	return decoded, ""
}

// encodingNamed finds an encoding by a name that browsers know, or that IANA has registered.
func encodingNamed(name string) (encoding.Encoding, string) {
	if e, canonical := charset.Lookup(name); e != nil {
		return e, canonical
	}
	e, err := ianaindex.IANA.Encoding(name)
	if err != nil {
		return nil, ""
	}
	return e, name
}

func shorten(text string) string { return truncate.Bytes(strings.ToValidUTF8(text, "\uFFFD"), 200) }
