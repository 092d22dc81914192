// Package charset decodes the text of documents.
package charset

import (
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/windlass-dev/windlass/services/knowledge/parse/document"
)

// Byte order marks.
const (
	bomUTF8  = "\xef\xbb\xbf"
	bomUTF16 = "\xff\xfe"
	bomSwap  = "\xfe\xff"
)

// HasMark reports whether data begins with a byte order mark.
func HasMark(data []byte) bool {
	for _, mark := range []string{bomUTF8, bomUTF16, bomSwap} {
		if strings.HasPrefix(string(data[:min(len(data), len(mark))]), mark) {
			return true
		}
	}
	return false
}

// Decode returns data as UTF-8: by its byte order mark, as UTF-8 if it is that, else by the character set that the media type declares.
func Decode(data []byte, mediaType string) (string, error) {
	switch {
	case strings.HasPrefix(string(data[:min(len(data), 3)]), bomUTF8):
		return string(data[3:]), nil
	case HasMark(data):
		return decode(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), data)
	case utf8.Valid(data):
		return string(data), nil
	}
	_, params, err := mime.ParseMediaType(mediaType)
	name := strings.ToLower(params["charset"])
	if err != nil || name == "" || name == "utf-8" {
		return "", document.Refuse("is neither UTF-8 nor UTF-16 with a byte order mark: save it as UTF-8, or declare its character set, " +
			"for example as text/plain; charset=windows-1252")
	}
	set := lookup(name)
	if set == nil {
		return "", document.Refuse("has a character set that cannot be read: save it as UTF-8")
	}
	return decode(set, data)
}

func decode(set encoding.Encoding, data []byte) (string, error) {
	text, err := set.NewDecoder().Bytes(data)
	if err != nil {
		return "", document.Refuse("cannot be decoded: save it as UTF-8")
	}
	return string(text), nil
}

// lookup returns a character set by its name, nil for unknown ones. ISO 8859-1 is read as windows-1252, as browsers do.
func lookup(name string) encoding.Encoding {
	switch name {
	case "iso-8859-1", "latin1", "us-ascii", "ascii", "cp1252":
		return charmap.Windows1252
	}
	name = strings.NewReplacer("-", "", "_", "", " ", "").Replace(name)
	for _, set := range charmap.All {
		c, ok := set.(*charmap.Charmap)
		if ok && strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(c.String())) == name {
			return c
		}
	}
	return nil
}
