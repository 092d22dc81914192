package httpcall

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/windlass-dev/windlass/libs/canon"
)

// IsJSON reports whether a media type is JSON: application/json, or one that ends in +json.
func IsJSON(mediaType string) bool {
	plain, _, err := mime.ParseMediaType(mediaType)
	return err == nil && (plain == "application/json" || strings.HasSuffix(plain, "+json"))
}

// Media types of forms.
const (
	FormURLEncoded = "application/x-www-form-urlencoded"
	FormData       = "multipart/form-data"
)

// body returns the body and its media type; nil for none.
func (o *Operation) body(args canon.Object) ([]byte, string, error) {
	if o.Body == nil {
		return nil, "", nil
	}
	v, ok := args[o.Body.Argument]
	if !ok {
		return nil, "", nil
	}
	object, isObject := v.(map[string]any)
	switch media := o.Body.MediaType; {
	case IsJSON(media):
		return asJSON(v), media, nil
	case media == FormURLEncoded && isObject:
		return []byte(joinPairs(o.Body.form(object), "&")), media, nil
	case media == FormData && isObject:
		return o.Body.multipart(object)
	case media == FormURLEncoded, media == FormData:
		return nil, "", wrong(o.Body.Argument, "an object is required: its members are the fields of the form")
	case o.Body.Base64:
		data, err := base64.StdEncoding.DecodeString(scalar(v))
		if err != nil {
			return nil, "", wrong(o.Body.Argument, "this is not base64")
		}
		return data, media, nil
	default:
		return []byte(scalar(v)), media, nil
	}
}

// form returns the fields of a form. Arrays repeat the name, and objects are JSON, unless the operation says otherwise.
func (b *Body) form(o map[string]any) []pair {
	var out []pair
	for _, name := range slices.Sorted(maps.Keys(o)) {
		part, v := b.Parts[name], o[name]
		p := Parameter{Name: name, Style: part.Style, Explode: part.Explode, Reserved: part.Reserved}
		if p.Style == "" && !IsJSON(part.MediaType) {
			p.Style, p.Explode = Form, true
			if _, nested := v.(map[string]any); nested {
				p.Style = ""
			}
		}
		out = append(out, p.pairs(v)...)
	}
	return out
}

// multipart writes the fields as parts. The same fields give the same bytes, so that a repeated request is the same request.
func (b *Body) multipart(o map[string]any) ([]byte, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	sum := sha256.Sum256(asJSON(o))
	if err := w.SetBoundary("windlass-" + hex.EncodeToString(sum[:16])); err != nil {
		return nil, "", fmt.Errorf("build request: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		values := []any{o[name]}
		if list, ok := o[name].([]any); ok && !IsJSON(b.Parts[name].MediaType) {
			values = list
		}
		for _, v := range values {
			if v == nil {
				continue
			}
			if err := b.part(w, name, v); err != nil {
				return nil, "", err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("build request: %w", err)
	}
	return buf.Bytes(), w.FormDataContentType(), nil
}

func (b *Body) part(w *multipart.Writer, name string, v any) error {
	how, filename, mediaType := b.Parts[name], "", b.Parts[name].MediaType
	var data []byte
	object, isObject := v.(map[string]any)
	switch {
	case how.File && isObject:
		file, err := readFile(object)
		if err != nil {
			return wrong(b.Argument+"/"+name, "%s", err)
		}
		data, filename = file.data, file.name
		if file.mediaType != "" {
			mediaType = file.mediaType
		}
		if mediaType == "" || strings.ContainsAny(mediaType, "*,") {
			mediaType = "application/octet-stream"
		}
	case isObject, IsJSON(mediaType):
		data = asJSON(v)
		if mediaType == "" {
			mediaType = "application/json"
		}
	default:
		data = []byte(scalar(v))
	}
	h := textproto.MIMEHeader{"Content-Disposition": {multipart.FileContentDisposition(name, filename)}}
	if filename == "" {
		h.Set("Content-Disposition", `form-data; name="`+quoted(name)+`"`)
	}
	if mediaType != "" {
		h.Set("Content-Type", mediaType)
	}
	out, err := w.CreatePart(h)
	if err == nil {
		_, err = out.Write(data)
	}
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	return nil
}

// quoted escapes a field's name as browsers do (HTML Living Standard, "multipart/form-data encoding algorithm").
func quoted(name string) string {
	return strings.NewReplacer("\r", "%0D", "\n", "%0A", `"`, "%22").Replace(name)
}

type file struct {
	name, mediaType string
	data            []byte
}

// readFile reads a file argument.
func readFile(o map[string]any) (f file, err error) {
	text, hasText := o["text"].(string)
	encoded, hasData := o["base64"].(string)
	if hasText == hasData {
		return f, fmt.Errorf("give either text or base64")
	}
	f.name, _ = o["filename"].(string)
	f.mediaType, _ = o["media_type"].(string)
	if f.name == "" {
		f.name = "file"
	}
	if _, _, err := mime.ParseMediaType(f.mediaType); f.mediaType != "" && (err != nil || !httpguts.ValidHeaderFieldValue(f.mediaType)) {
		return f, fmt.Errorf("media_type is not a media type")
	}
	if f.data = []byte(text); hasData {
		if f.data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
			return f, fmt.Errorf("base64 is not base64")
		}
	}
	return f, nil
}
