package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// IsImage reports whether a media type is an image that models commonly accept.
func IsImage(mediaType string) bool {
	return slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType)
}

// PartText returns the text of a content part: text as it is, a text file's content, and a note for other content.
func PartText(p *turnv1.ContentPart) string {
	switch v := p.GetPart().(type) {
	case *turnv1.ContentPart_Text:
		return v.Text
	case *turnv1.ContentPart_Blob:
		data, media := v.Blob.GetData(), v.Blob.GetMediaType()
		if (strings.HasPrefix(media, "text/") || media == "application/json") && utf8.Valid(data) {
			return string(data)
		}
		return fmt.Sprintf("[%s, %d bytes: cannot be shown here]", media, len(data))
	case *turnv1.ContentPart_Link:
		if v.Link.GetName() != "" {
			return fmt.Sprintf("[%s: %s]", v.Link.GetName(), v.Link.GetUri())
		}
		return "[" + v.Link.GetUri() + "]"
	default:
		return ""
	}
}

// Text joins the text of several parts, one per line.
func Text(parts []*turnv1.ContentPart) string {
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if t := PartText(p); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// ResultText returns a tool's result for a model: its content, or its structured result if it has none. It is never empty.
func ResultText(r *turnv1.ToolResult) string {
	text := Text(r.GetContent())
	if text == "" && r.GetStructuredContent() != nil {
		if raw, err := protojson.Marshal(r.GetStructuredContent()); err == nil {
			text = string(raw)
		}
	}
	if text == "" {
		text = "(no output)"
	}
	if r.GetTruncated() {
		text += "\n[cut: the result was longer]"
	}
	return text
}

// ArgumentsObject returns a call's arguments as a JSON object, whatever the model wrote: providers reject anything else in a conversation.
// Invalid text is put under "invalid_json", so that the model sees its mistake.
func ArgumentsObject(written string) json.RawMessage {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(written), &object); err == nil && object != nil {
		return json.RawMessage(written)
	}
	if strings.TrimSpace(written) == "" {
		return json.RawMessage("{}")
	}
	wrapped, err := json.Marshal(map[string]string{"invalid_json": written})
	if err != nil {
		return json.RawMessage("{}")
	}
	return wrapped
}

// Schema returns a tool's input schema as providers require it: an object with a type and possibly empty properties. A complete schema is
// returned unchanged.
func Schema(written string) (json.RawMessage, error) {
	if strings.TrimSpace(written) == "" {
		written = "{}"
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(written), &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("is not a JSON object")
	}
	complete := true
	for key, value := range map[string]string{"type": `"object"`, "properties": `{}`} {
		if _, ok := fields[key]; !ok {
			fields[key], complete = json.RawMessage(value), false
		}
	}
	if complete {
		return json.RawMessage(written), nil
	}
	return json.Marshal(fields)
}
