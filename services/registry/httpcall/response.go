package httpcall

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Limits of structured content: what readers of the mesh's messages take. A result beyond them is text only.
const (
	maxValues = 200_000
	maxDepth  = 500
)

// result converts a whole response. hide removes secrets, which the server may repeat.
func (a answer) result(hide func(string) string) *turnv1.ToolResult {
	out := &turnv1.ToolResult{IsError: a.status >= 300}
	heading := ""
	if out.GetIsError() {
		heading = fmt.Sprintf("The API answered %s", statusText(a.status))
	}
	switch {
	case a.empty():
		if heading == "" {
			heading = fmt.Sprintf("The API answered %s without content", statusText(a.status))
		}
		out.Content = append(out.Content, text(heading+"."))
		return out
	case a.unreadable != "" && heading != "":
		out.Content = append(out.Content, text(fmt.Sprintf("%s, and %d bytes that cannot be read: %s.", heading, len(a.body), a.unreadable)))
		return out
	case a.unreadable != "":
		out.Content = append(out.Content, text(fmt.Sprintf("The API's answer is added as bytes, since %s.", a.unreadable)),
			bytesOf("application/octet-stream", []byte(hide(string(a.body)))))
		return out
	case isBinary(a.media) && heading == "":
		out.Content = append(out.Content, bytesOf(a.media, a.body))
		return out
	case isBinary(a.media):
		out.Content = append(out.Content, text(fmt.Sprintf("%s, and %d bytes of %s.", heading, len(a.body), a.media)))
		return out
	}
	shown := hide(string(a.body))
	if IsJSON(a.media) || a.media == "" {
		out.StructuredContent = Structured([]byte(shown))
	}
	if heading != "" {
		shown = heading + ":\n" + shown
	}
	out.Content = append(out.Content, text(shown))
	return out
}

// Structured returns a JSON object or array as structured content; nil for anything else, and for what exceeds the limits.
func Structured(body []byte) *structpb.Value {
	first := bytes.TrimLeft(body, " \t\r\n")
	if len(first) == 0 || first[0] != '{' && first[0] != '[' {
		return nil
	}
	if values, depth := canon.Measure(body); values > maxValues || depth > maxDepth {
		return nil
	}
	v, err := canon.ParseValue(body)
	if err != nil {
		return nil
	}
	return v
}

// isBinary reports whether a body of this media type is no text.
func isBinary(media string) bool {
	switch kind, sub, _ := strings.Cut(media, "/"); kind {
	case "":
		return false
	case "text", "multipart", "message":
		return false
	case "application":
		textual := strings.HasSuffix(sub, "json") || strings.HasSuffix(sub, "xml") || strings.HasSuffix(sub, "yaml")
		switch sub {
		case "javascript", "x-ndjson", "jsonl", "x-jsonlines", "x-www-form-urlencoded", "graphql", "sql", "toml":
			textual = true
		}
		return !textual
	default:
		return !strings.HasSuffix(sub, "+xml") && !strings.HasSuffix(sub, "+json")
	}
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

func bytesOf(media string, data []byte) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: media, Data: data}}}
}

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
}
