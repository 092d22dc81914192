package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/ids"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxImage is the size in bytes up to which an image is part of the conversation; other bytes that are no text are so up to the limit of text.
const maxImage = 1 << 20

// keeper names what is kept whole, after the execution that it comes from: whoever asks for the result again gets the same names.
type keeper struct {
	tool, execution string
	wholes          []*registryv1.Whole
}

// keep takes bytes out of a result and gives their id.
func (k *keeper) keep(suffix, mediaType string, data []byte) string {
	n := len(k.wholes)
	id := ids.Artifact + strings.TrimPrefix(k.execution, ids.Execution)
	name := k.tool
	if n > 0 {
		id, name = fmt.Sprintf("%s_%d", id, n), fmt.Sprintf("%s-%d", name, n)
	}
	k.wholes = append(k.wholes, &registryv1.Whole{ArtifactId: id, Name: name + suffix, MediaType: mediaType, Data: data})
	return id
}

// forModel makes what a model is given of a result: text of more than limit bytes in all is kept whole beside it, and shown by its two ends; so
// are other bytes that are too large, which are only named. Structured content is as a rule the same thing again, and counts by itself: one
// beyond the limit is left out, and kept where there is no text that says the same. The given result is not changed.
func forModel(full *turnv1.ToolResult, limit int, k keeper) (*turnv1.ToolResult, []*registryv1.Whole) {
	result := &turnv1.ToolResult{IsError: full.GetIsError(), StructuredContent: full.GetStructuredContent()}
	var texts []string
	total := 0
	for _, part := range full.GetContent() {
		if text, ok := part.GetPart().(*turnv1.ContentPart_Text); ok {
			texts, total = append(texts, text.Text), total+len(text.Text)
		}
	}
	long := total > limit
	if long {
		whole := strings.Join(texts, "\n")
		suffix, mediaType := kindOf(whole)
		result.Content = append(result.Content, textPart(preview(whole, limit, k.keep(suffix, mediaType, []byte(whole)))))
	}
	for _, part := range full.GetContent() {
		blob := part.GetBlob()
		switch {
		case part.GetLink() == nil && blob == nil && long: // in the preview
		case blob != nil && len(blob.GetData()) > blobLimit(blob, limit):
			id := k.keep("", blob.GetMediaType(), blob.GetData())
			result.Content = append(result.Content, textPart(fmt.Sprintf("[%d bytes of %s, kept as artifact %s]", len(blob.GetData()), blob.GetMediaType(), id)))
		default:
			result.Content = append(result.Content, part)
		}
	}
	if s := result.GetStructuredContent(); s != nil && proto.Size(s) > limit {
		result.StructuredContent, result.Truncated = nil, true
		if data, err := protojson.Marshal(s); err == nil && total <= limit/4 { // the text is no more than a summary of it
			id := k.keep(".json", "application/json", data)
			result.Content = append(result.Content, textPart(preview(string(data), limit, id)))
		}
	}
	for _, w := range k.wholes {
		result.Truncated, result.ArtifactIds = true, append(result.ArtifactIds, w.GetArtifactId())
	}
	return result, k.wholes
}

func blobLimit(b *turnv1.Blob, limit int) int {
	if strings.HasPrefix(b.GetMediaType(), "image/") {
		return max(limit, maxImage)
	}
	return limit
}

// kindOf says how a text is best kept.
func kindOf(text string) (suffix, mediaType string) {
	if first := strings.TrimLeft(text, " \t\r\n"); strings.HasPrefix(first, "{") || strings.HasPrefix(first, "[") {
		if json.Valid([]byte(text)) {
			return ".json", "application/json"
		}
	}
	return ".txt", "text/plain; charset=utf-8"
}

// preview shows the two ends of a text, three eighths of limit in all, and says what is missing and where it is.
func preview(text string, limit int, artifact string) string {
	head := cut(text, limit/4)
	if at := strings.LastIndexByte(head, '\n'); at > len(head)*3/4 {
		head = head[:at+1]
	}
	from := max(len(head), len(text)-limit/8)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	tail := text[from:]
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)/4 {
		tail = tail[at+1:]
	}
	return fmt.Sprintf("%s\n[cut: of %d bytes the first %d and the last %d are shown. The whole is artifact %s; read parts of it with %s.]\n%s",
		strings.TrimSuffix(head, "\n"), len(text), len(head), len(tail), artifact, contract.ReadArtifact, tail)
}

// cut gives the longest beginning of text with at most n bytes and whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}
