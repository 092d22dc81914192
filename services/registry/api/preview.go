package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/mediatext"
	"github.com/windlass-dev/windlass/libs/toolresult"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxImage is the size in bytes up to which an image is part of the conversation; other binary data is limited like text.
const maxImage = 1 << 20

// keeper names the artifacts of a result after its execution: another request for the result gets the same names.
type keeper struct {
	tool, execution string
	wholes          []*registryv1.Whole
}

// keep moves bytes of a result to an artifact.
func (k *keeper) keep(suffix, mediaType string, data []byte) *registryv1.Whole {
	n := len(k.wholes)
	id := ids.Artifact + strings.TrimPrefix(k.execution, ids.Execution)
	name := k.tool
	if n > 0 {
		id, name = fmt.Sprintf("%s_%d", id, n), fmt.Sprintf("%s-%d", name, n)
	}
	whole := &registryv1.Whole{ArtifactId: id, Name: name + suffix, MediaType: mediaType, Data: data}
	k.wholes = append(k.wholes, whole)
	return whole
}

// show returns the content part with both ends of a text that is stored as an artifact.
func show(result *turnv1.ToolResult, whole *registryv1.Whole, text string, limit int) *turnv1.ContentPart {
	whole.PreviewLimit, whole.PreviewPart = int32(limit), int32(len(result.GetContent()))
	return textPart(contract.Preview(text, limit, whole.GetArtifactId()))
}

// forModel returns a result for the model: if its text, bytes that are text included, has more than limit bytes in total, the text is
// stored whole as an artifact and both its ends are shown. Large binary data is stored too, and only named. Structured content often
// repeats a text and counts separately: beyond the limit it is omitted, and stored if no text says the same. The given result is not
// modified.
func forModel(full *turnv1.ToolResult, limit int, k keeper) (*turnv1.ToolResult, []*registryv1.Whole) {
	result := &turnv1.ToolResult{IsError: full.GetIsError(), StructuredContent: full.GetStructuredContent()}
	var texts []string
	total := 0
	content := flat(full.GetContent())
	for _, part := range content {
		if text, ok := textOf(part); ok {
			texts, total = append(texts, text), total+len(text)
		}
	}
	long := total > limit
	if long {
		whole := strings.Join(texts, "\n")
		suffix, mediaType := kindOf(whole)
		result.Content = append(result.Content, show(result, k.keep(suffix, mediaType, []byte(whole)), whole, limit))
	}
	for _, part := range content {
		blob := part.GetBlob()
		_, isText := textOf(part)
		switch {
		case isText && long: // in the preview
		case blob != nil && len(blob.GetData()) > blobLimit(blob, limit):
			whole := k.keep("", blob.GetMediaType(), blob.GetData())
			if contract.Shown(blob.GetMediaType()) && !mediatext.Is(blob.GetMediaType()) { // the next model call reads it
				result.Content = append(result.Content, filePart(whole))
				continue
			}
			named := fmt.Sprintf("[%d bytes of %s, kept as artifact %s]", len(blob.GetData()), blob.GetMediaType(), whole.GetArtifactId())
			result.Content = append(result.Content, textPart(named))
		default:
			result.Content = append(result.Content, part)
		}
	}
	if s := result.GetStructuredContent(); s != nil && proto.Size(s) > limit {
		result.StructuredContent, result.Truncated = nil, true
		if data := toolresult.Unsaid(&turnv1.ToolResult{Content: content, StructuredContent: s}); data != "" {
			result.Content = append(result.Content, show(result, k.keep(".json", "application/json", []byte(data)), data, limit))
		}
	}
	for _, w := range k.wholes {
		result.Truncated, result.ArtifactIds = true, append(result.ArtifactIds, w.GetArtifactId())
	}
	return result, k.wholes
}

// flat returns content in which embedded resources are text or bytes: conversations know nothing else.
func flat(content []*turnv1.ContentPart) []*turnv1.ContentPart {
	out := make([]*turnv1.ContentPart, len(content))
	for i, part := range content {
		out[i] = part
		r := part.GetResource()
		if r == nil {
			continue
		}
		out[i] = textPart(r.GetText())
		if data, ok := r.GetContent().(*turnv1.EmbeddedResource_Data); ok {
			mediaType := cmp.Or(r.GetMediaType(), "application/octet-stream")
			out[i] = &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: mediaType, Data: data.Data}}}
		}
	}
	return out
}

// textOf returns the text of a part that models read as text, as bytes of text are; false for others.
func textOf(p *turnv1.ContentPart) (string, bool) {
	if text, ok := p.GetPart().(*turnv1.ContentPart_Text); ok {
		return text.Text, true
	}
	return mediatext.Of(p.GetBlob().GetMediaType(), p.GetBlob().GetData())
}

func blobLimit(b *turnv1.Blob, limit int) int {
	if strings.HasPrefix(b.GetMediaType(), "image/") {
		return max(limit, maxImage)
	}
	return limit
}

// kindOf returns the suffix and media type to store a text with.
func kindOf(text string) (suffix, mediaType string) {
	if first := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
		if json.Valid([]byte(text)) {
			return ".json", "application/json"
		}
	}
	return ".txt", "text/plain; charset=utf-8"
}

func filePart(w *registryv1.Whole) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_File{File: &turnv1.FileRef{
		FileId: w.GetArtifactId(), Name: w.GetName(), MediaType: w.GetMediaType(), Size: int64(len(w.GetData())),
	}}}
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}
