package openapi

import (
	"errors"
	"maps"
	"mime"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/windlass-dev/windlass/libs/truncate"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
)

// preference orders media types of a request's body; the first one that the operation takes is sent.
func preference(media string) int {
	plain, _, err := mime.ParseMediaType(media)
	switch {
	case err != nil:
		return 9
	case plain == "application/json":
		return 0
	case httpcall.IsJSON(media):
		return 1
	case plain == httpcall.FormData:
		return 2
	case plain == httpcall.FormURLEncoded:
		return 3
	case strings.HasPrefix(plain, "text/"):
		return 4
	case strings.HasSuffix(plain, "xml"), strings.HasSuffix(plain, "yaml"):
		return 5
	default:
		return 6
	}
}

// body returns the schema of the body, and how it is written.
func (op *operation) body(c *converter, body *openapi3.RequestBody) (any, *httpcall.Body, error) {
	media := slices.SortedFunc(maps.Keys(body.Content), func(a, b string) int {
		if x, y := preference(a), preference(b); x != y {
			return x - y
		}
		return strings.Compare(a, b)
	})[0]
	content := body.Content[media]
	if preference(media) == 9 || content == nil {
		return nil, nil, errors.New("its body has no valid media type")
	}
	plain, _, _ := mime.ParseMediaType(media) // preference parsed it
	out := &httpcall.Body{Argument: bodyArgument, MediaType: media}
	switch {
	case httpcall.IsJSON(media):
		return op.described(c, c.schema(content.Schema), body), out, nil
	case plain == httpcall.FormData, plain == httpcall.FormURLEncoded:
		out.MediaType = plain
		return op.described(c, c.form(content, out), body), out, nil
	case preference(media) <= 5:
		return op.described(c, map[string]any{"type": "string", "description": "The body, as " + plain + "."}, body), out, nil
	}
	out.Base64 = true
	if strings.Contains(media, "*") {
		out.MediaType = "application/octet-stream"
	}
	converted := map[string]any{"type": "string", "contentEncoding": "base64", "description": "The body, as " + plain + " in base64."}
	return op.described(c, converted, body), out, nil
}

// described adds the body's description where the schema has none.
func (op *operation) described(c *converter, converted any, body *openapi3.RequestBody) any {
	object, ok := converted.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if text := strings.TrimSpace(body.Description); text != "" && c.detail != asserted && object["description"] == nil {
		object["description"] = truncate.Bytes(text, maxBrief*2)
	}
	return object
}

// form returns the schema of a form: an object whose members are the fields.
func (c *converter) form(content *openapi3.MediaType, out *httpcall.Body) any {
	fields, required := map[string]*openapi3.SchemaRef{}, map[string]bool{}
	open := true
	if content.Schema != nil && content.Schema.Value != nil {
		collect(content.Schema.Value, fields, required, 0)
		open = len(fields) == 0
	}
	properties := map[string]any{}
	for _, name := range sortedKeys(fields) {
		ref, how := fields[name], encodingOf(content.Encoding[name])
		if ref == nil || ref.Value == nil || ref.Value.ReadOnly {
			delete(required, name)
			continue
		}
		switch {
		case out.MediaType == httpcall.FormData && isFile(ref.Value, how.MediaType):
			how.File = true
			properties[name] = c.file(ref.Value)
		case out.MediaType == httpcall.FormData && ref.Value.Items != nil && ref.Value.Items.Value != nil &&
			isFile(ref.Value.Items.Value, how.MediaType):
			how.File = true
			properties[name] = map[string]any{"type": "array", "items": c.file(ref.Value.Items.Value)}
		default:
			properties[name] = c.schema(ref)
		}
		if how != (httpcall.Part{}) {
			if out.Parts == nil {
				out.Parts = map[string]httpcall.Part{}
			}
			out.Parts[name] = how
		}
	}
	object := map[string]any{"type": "object", "properties": properties}
	if !open {
		object["additionalProperties"] = false
	}
	if len(required) > 0 {
		object["required"] = sortedKeys(required)
	}
	return object
}

// maxNested bounds how deeply the parts of a form's schema are nested.
const maxNested = 20

// collect gathers the fields of a form from a schema and its allOf.
func collect(s *openapi3.Schema, fields map[string]*openapi3.SchemaRef, required map[string]bool, depth int) {
	if depth > maxNested {
		return
	}
	maps.Copy(fields, s.Properties)
	for _, name := range s.Required {
		required[name] = true
	}
	for _, part := range s.AllOf {
		if part != nil && part.Value != nil {
			collect(part.Value, fields, required, depth+1)
		}
	}
}

func encodingOf(e *openapi3.Encoding) httpcall.Part {
	if e == nil {
		return httpcall.Part{}
	}
	p := httpcall.Part{MediaType: e.ContentType, Style: e.Style, Reserved: e.AllowReserved}
	if first, _, several := strings.Cut(e.ContentType, ","); several {
		p.MediaType = strings.TrimSpace(first)
	}
	if p.Explode = e.Style == httpcall.Form; e.Explode != nil {
		p.Explode = *e.Explode
		if p.Style == "" {
			p.Style = httpcall.Form
		}
	}
	return p
}

// isFile reports whether a field is a file: binary, in the ways of OpenAPI 3.0 and 3.1.
func isFile(s *openapi3.Schema, mediaType string) bool {
	isString := s.Type == nil || len(*s.Type) == 0 || slices.Contains(*s.Type, "string")
	switch {
	case !isString || len(s.Properties) > 0 || s.Items != nil || len(s.Enum) > 0:
		return false
	case s.Format == "binary", s.ContentMediaType != "" && s.ContentEncoding == "":
		return true
	default:
		return s.Type == nil && mediaType != "" && !httpcall.IsJSON(mediaType) && !strings.HasPrefix(mediaType, "text/plain")
	}
}

// file is the schema of a file argument, which httpcall reads.
func (c *converter) file(s *openapi3.Schema) map[string]any {
	text := map[string]any{"type": "string"}
	object := map[string]any{
		"type": "object", "additionalProperties": false,
		"oneOf": []any{map[string]any{"required": []string{"text"}}, map[string]any{"required": []string{"base64"}}},
		"properties": map[string]any{
			"filename": text, "media_type": text, "text": text, "base64": map[string]any{"type": "string", "contentEncoding": "base64"},
		},
	}
	if c.detail != asserted {
		object["description"] = strings.TrimSpace(truncate.Bytes(s.Description, maxBrief*2) +
			" A file: its content as text, or else as base64, and optionally its filename and media_type.")
	}
	return object
}
