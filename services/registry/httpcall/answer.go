package httpcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
)

// answer is a whole response of an API.
type answer struct {
	status int
	// media is the media type without parameters; empty if the response has none.
	media string
	// body is UTF-8 without a byte order mark, if it is text that can be read.
	body []byte
	// unreadable says why a body that should be text is not; empty otherwise.
	unreadable string
}

func newAnswer(status int, header http.Header, body []byte) answer {
	a := answer{status: status, body: body}
	contentType := header.Get("Content-Type")
	a.media = mediaOf(contentType)
	coding := strings.ToLower(strings.TrimSpace(strings.Join(header.Values("Content-Encoding"), ", ")))
	switch {
	case len(bytes.TrimSpace(body)) == 0:
	case coding != "" && coding != "identity":
		a.unreadable = fmt.Sprintf("its Content-Encoding %q is not known", shorten(coding))
	case !isBinary(a.media):
		a.body, a.unreadable = toUTF8(contentType, body)
	}
	return a
}

// mediaOf returns the media type of a Content-Type, also of one with invalid parameters; empty for none.
func mediaOf(contentType string) string {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(contentType, ";")
		media = strings.ToLower(strings.TrimSpace(media))
	}
	return media
}

// empty reports whether there is nothing but white space.
func (a answer) empty() bool { return len(bytes.TrimSpace(a.body)) == 0 }

// successful reports whether the status says that the operation was carried out.
func (a answer) successful() bool { return a.status >= 200 && a.status < 300 }

// mistaken says why a successful response is not the answer of an operation whose answers have the declared media types: something else
// answered, such as a login page. Empty if it may be. An answer without content has no media type to compare, and JSON is recognized
// whatever it is called.
func (a answer) mistaken(declared []string) string {
	if !a.successful() || a.empty() || len(declared) == 0 {
		return ""
	}
	isJSON := a.unreadable == "" && json.Valid(a.body)
	if slices.ContainsFunc(declared, func(d string) bool { return a.has(d, isJSON) }) {
		return ""
	}
	said := a.media
	switch {
	case a.unreadable != "":
		said = "a body that cannot be read, since " + a.unreadable + ","
	case IsJSON(said):
		said = "something that is not JSON"
	case said == "":
		said = "an unknown media type"
	}
	return fmt.Sprintf("%s instead of %s", said, shorten(strings.Join(declared, ", ")))
}

// has reports whether an answer has a declared media type, or one that APIs write in its place.
func (a answer) has(declared string, isJSON bool) bool {
	declared = mediaOf(declared)
	kind, sub, _ := strings.Cut(declared, "/")
	gotKind, gotSub, _ := strings.Cut(a.media, "/")
	switch {
	case IsJSON(declared):
		return isJSON
	case kind == "*" || declared == a.media || a.media == "":
		return true
	case isHTML(a.media):
		return kind == gotKind && sub == "*" || isHTML(declared)
	case kind == gotKind && (sub == "*" || slices.Contains([]string{"image", "audio", "video", "font"}, kind)):
		return true
	}
	// Many descriptions say no more than that an answer is bytes, or text.
	return declared == "application/octet-stream" || a.media == "application/octet-stream" ||
		declared == "text/plain" && (gotKind == "text" || isJSON) || family(sub) == family(gotSub)
}

// family is what the names of a format have in common: "x-yaml" and "yaml", "atom+xml" and "xml".
func family(sub string) string {
	if _, format, ok := strings.Cut(sub, "+"); ok {
		return format
	}
	return strings.TrimPrefix(sub, "x-")
}

func isHTML(media string) bool { return media == "text/html" || media == "application/xhtml+xml" }
