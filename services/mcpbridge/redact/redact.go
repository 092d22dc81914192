// Package redact removes secrets from what tool servers answer, by a function that replaces them in a text.
package redact

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Result applies hide to the texts of a result, in place, and returns the result.
func Result(res *mcpbridgev1.CallToolResult, hide func(string) string) *mcpbridgev1.CallToolResult {
	for _, part := range res.GetContent() {
		if link := part.GetLink(); link != nil {
			link.Uri, link.Name = hide(link.GetUri()), hide(link.GetName())
		} else if r := part.GetResource(); r != nil {
			r.Uri = hide(r.GetUri())
			if text, ok := r.GetContent().(*turnv1.EmbeddedResource_Text); ok {
				text.Text = hide(text.Text)
			}
		} else if text := part.GetText(); text != "" {
			part.Part = &turnv1.ContentPart_Text{Text: hide(text)}
		}
	}
	inValue(res.GetStructuredContent(), hide)
	return res
}

// inValue applies hide to the strings of a JSON value, including member names.
func inValue(v *structpb.Value, hide func(string) string) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		kind.StringValue = hide(kind.StringValue)
	case *structpb.Value_ListValue:
		for _, item := range kind.ListValue.GetValues() {
			inValue(item, hide)
		}
	case *structpb.Value_StructValue:
		fields := kind.StructValue.GetFields()
		for name, member := range fields {
			inValue(member, hide)
			if clean := hide(name); clean != name {
				delete(fields, name)
				fields[clean] = member
			}
		}
	}
}

// JSON applies hide to the strings of a JSON text, including member names.
func JSON(raw []byte, hide func(string) string) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(inAny(v, hide))
}

func inAny(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		for i := range v {
			v[i] = inAny(v[i], hide)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[hide(name)] = inAny(member, hide)
		}
		return out
	}
	return v
}
