// Package toolresult says what of a tool's result a model reads.
package toolresult

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// wrapper is the member under which common servers put a result that is no object, to make it one.
const wrapper = "result"

// DoubtHint ends what a model reads of a call whose outcome is unknown. People are asked to find out instead.
const DoubtHint = "Do not call it again with the same aim before its effect has been checked; tell the user that the outcome is unknown."

// Unsaid returns the JSON of a result's structured content if none of its texts says the same, else "". A model reads the data once.
func Unsaid(r *turnv1.ToolResult) string {
	v := r.GetStructuredContent()
	if _, null := v.GetKind().(*structpb.Value_NullValue); v == nil || null {
		return ""
	}
	var texts []string
	for _, part := range r.GetContent() {
		if text := textOf(part); text != "" {
			texts = append(texts, text)
		}
	}
	if says(texts, v) {
		return ""
	}
	if object := v.GetStructValue().GetFields(); len(object) == 1 {
		if inner, ok := object[wrapper]; ok && (says(texts, inner) || saysEach(texts, inner)) {
			return ""
		}
	}
	return string(canon.ValueJSON(v))
}

func textOf(p *turnv1.ContentPart) string {
	if b := p.GetBlob(); b.GetMediaType() == "application/json" {
		return string(b.GetData())
	}
	return p.GetText() + p.GetResource().GetText()
}

// says reports whether a text, or all texts together, are data.
func says(texts []string, data *structpb.Value) bool {
	for _, text := range texts {
		if same(text, data) {
			return true
		}
	}
	return len(texts) > 1 && same(strings.Join(texts, "\n"), data)
}

// saysEach reports whether texts are the elements of a list.
func saysEach(texts []string, data *structpb.Value) bool {
	list := data.GetListValue().GetValues()
	if len(list) != len(texts) || len(list) == 0 {
		return false
	}
	for i, element := range list {
		if !same(texts[i], element) {
			return false
		}
	}
	return true
}

// same reports whether a text is data: the same text, or JSON with the same meaning.
func same(text string, data *structpb.Value) bool {
	if s, ok := data.GetKind().(*structpb.Value_StringValue); ok && s.StringValue == text {
		return true
	}
	if !mayBe(text, data) {
		return false
	}
	meaning, err := canon.CanonicalText([]byte(text))
	return err == nil && meaning == canon.Canonical(canon.FromValue(data))
}

// mayBe reports whether a text begins as JSON of the type of data does. Models read each result in each call: what is no JSON is not
// parsed.
func mayBe(text string, data *structpb.Value) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	if text == "" {
		return false
	}
	first := text[0]
	switch data.GetKind().(type) {
	case *structpb.Value_StructValue:
		return first == '{'
	case *structpb.Value_ListValue:
		return first == '['
	case *structpb.Value_StringValue:
		return first == '"'
	case *structpb.Value_NullValue:
		return first == 'n'
	case *structpb.Value_BoolValue:
		return first == 't' || first == 'f'
	default:
		return first == '-' || first >= '0' && first <= '9'
	}
}
