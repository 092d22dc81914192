package httpcall

import (
	"bytes"
	"fmt"
	"mime"
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
func result(status int, header http.Header, body []byte, hide func(string) string) *turnv1.ToolResult {
	out := &turnv1.ToolResult{IsError: status >= 300}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	heading := ""
	if out.GetIsError() {
		heading = fmt.Sprintf("The API answered %s", statusText(status))
	}
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		if heading == "" {
			heading = fmt.Sprintf("The API answered %s without content", statusText(status))
		}
		out.Content = append(out.Content, text(heading+"."))
		return out
	case isBinary(media) && heading == "":
		blob := &turnv1.Blob{MediaType: media, Data: body}
		out.Content = append(out.Content, &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: blob}})
		return out
	case isBinary(media):
		out.Content = append(out.Content, text(fmt.Sprintf("%s, and %d bytes of %s.", heading, len(body), media)))
		return out
	}
	shown := hide(strings.ToValidUTF8(string(body), "\uFFFD"))
	if IsJSON(media) || media == "" {
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
	v := &structpb.Value{}
	if err := v.UnmarshalJSON(body); err != nil {
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

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: s}}
}
