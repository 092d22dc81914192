package mcpbridge

import (
	"bytes"
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"

	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// clean removes secrets from a result, in place: results are stored, shown and read by models, and a server may echo its headers or
// variables. An error result loses all secrets, a good one only the values of references.
func (s *spec) clean(res *mcpbridgev1.CallToolResult) *mcpbridgev1.CallToolResult {
	hide := s.withhold
	if res.GetIsError() {
		hide = s.redact
	}
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
	cleanValue(res.GetStructuredContent(), hide)
	return res
}

// cleanValue applies hide to the strings of a JSON value, including member names.
func cleanValue(v *structpb.Value, hide func(string) string) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		kind.StringValue = hide(kind.StringValue)
	case *structpb.Value_ListValue:
		for _, item := range kind.ListValue.GetValues() {
			cleanValue(item, hide)
		}
	case *structpb.Value_StructValue:
		fields := kind.StructValue.GetFields()
		for name, member := range fields {
			cleanValue(member, hide)
			if clean := hide(name); clean != name {
				delete(fields, name)
				fields[clean] = member
			}
		}
	}
}

// cleanJSON removes the values of references from the strings of a JSON text. Without such values the text stays as it is, byte for byte.
func (s *spec) cleanJSON(raw []byte) ([]byte, error) {
	if !s.withholds {
		return raw, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(cleanAny(v, s.withhold))
}

func cleanAny(v any, hide func(string) string) any {
	switch v := v.(type) {
	case string:
		return hide(v)
	case []any:
		for i := range v {
			v[i] = cleanAny(v[i], hide)
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[hide(name)] = cleanAny(member, hide)
		}
		return out
	}
	return v
}
