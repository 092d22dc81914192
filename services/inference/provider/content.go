package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/mediatext"
	"github.com/windlass-dev/windlass/libs/toolresult"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// PartText returns the text of a content part: text as it is, a text file's content, and a note for other content.
func PartText(p *turnv1.ContentPart) string {
	switch v := p.GetPart().(type) {
	case *turnv1.ContentPart_Text:
		return v.Text
	case *turnv1.ContentPart_Blob:
		if text, ok := mediatext.Of(v.Blob.GetMediaType(), v.Blob.GetData()); ok {
			return text
		}
		return fmt.Sprintf("[%s, %d bytes: cannot be shown here]", blobName(v.Blob), len(v.Blob.GetData()))
	case *turnv1.ContentPart_File:
		return fmt.Sprintf("[file %s, artifact %s: %s, %d bytes: cannot be shown here]", v.File.GetName(), v.File.GetFileId(),
			v.File.GetMediaType(), v.File.GetSize())
	case *turnv1.ContentPart_Link:
		if v.Link.GetName() != "" {
			return fmt.Sprintf("[%s: %s]", v.Link.GetName(), v.Link.GetUri())
		}
		return "[" + v.Link.GetUri() + "]"
	default:
		return ""
	}
}

// blobName returns the name of a blob, if it has one, and its media type.
func blobName(b *turnv1.Blob) string {
	if b.GetName() == "" {
		return b.GetMediaType()
	}
	return "file " + b.GetName() + ": " + b.GetMediaType()
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

// ResultText returns a tool's result for a model: its content, and its structured content unless a text is the same. It is never empty.
func ResultText(r *turnv1.ToolResult) string {
	text := resultText(r, r.GetContent())
	if text == "" {
		text = "(no output)"
	}
	return text
}

// ResultParts is ResultText for APIs that take images in results. Either may be empty, but not both.
func (s Sheet) ResultParts(r *turnv1.ToolResult) (images []*turnv1.Blob, text string) {
	var others []*turnv1.ContentPart
	for _, p := range r.GetContent() {
		if b := p.GetBlob(); s.Images.Has(b) {
			images = append(images, b)
		} else {
			others = append(others, p)
		}
	}
	if text = resultText(r, others); text == "" && (len(images) == 0 || len(others) > 0) {
		text = "(no output)"
	}
	return images, text
}

func resultText(r *turnv1.ToolResult, content []*turnv1.ContentPart) string {
	lines := []string{Text(content), toolresult.Unsaid(r)}
	if r.GetTruncated() {
		lines = append(lines, "[cut: the result was longer]")
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), "\n")
}

// ArgumentsObject returns a call's arguments as a JSON object, whatever the model wrote: providers reject anything else in a conversation.
// Invalid text is put under "invalid_json", so that the model sees its mistake.
func ArgumentsObject(written string) json.RawMessage {
	trimmed := strings.TrimLeft(written, " \t\r\n")
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(written)) {
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
