package mcp

import (
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// resultOf returns a tool's result on the wire, in the revision of 2026-07-28 or an earlier one. place returns the URI by which the client
// finds a resource.
func resultOf(r *registryv1.InvokeToolResponse, modern bool, clientURI func(string) string) map[string]any {
	content := []any{}
	for _, part := range r.GetContent() {
		content = append(content, partOf(part, clientURI))
	}
	result := map[string]any{"content": content, "isError": r.GetIsError()}
	if s := r.GetStructuredContent(); s != nil {
		text := canon.ValueJSON(s)
		if s.GetStructValue() != nil || modern { // earlier revisions have objects only
			result["structuredContent"] = json.RawMessage(text)
		}
		if len(content) == 0 { // for clients that read only text
			result["content"] = []any{map[string]any{"type": "text", "text": string(text)}}
		}
	}
	return result
}

func partOf(part *turnv1.ContentPart, clientURI func(string) string) map[string]any {
	switch p := part.GetPart().(type) {
	case *turnv1.ContentPart_Blob:
		kind, _, _ := strings.Cut(p.Blob.GetMediaType(), "/")
		if kind == "image" || kind == "audio" {
			return map[string]any{"type": kind, "data": p.Blob.GetData(), "mimeType": p.Blob.GetMediaType()}
		}
		return map[string]any{"type": "resource", "resource": map[string]any{
			"uri": "data:" + p.Blob.GetMediaType(), "mimeType": p.Blob.GetMediaType(), "blob": p.Blob.GetData(),
		}}
	case *turnv1.ContentPart_Link:
		link := map[string]any{"type": "resource_link", "uri": clientURI(p.Link.GetUri()), "name": p.Link.GetName()}
		if p.Link.GetName() == "" {
			link["name"] = p.Link.GetUri()
		}
		if p.Link.GetMediaType() != "" {
			link["mimeType"] = p.Link.GetMediaType()
		}
		return link
	case *turnv1.ContentPart_Resource:
		r := map[string]any{"uri": clientURI(p.Resource.GetUri())}
		if p.Resource.GetMediaType() != "" {
			r["mimeType"] = p.Resource.GetMediaType()
		}
		if data, ok := p.Resource.GetContent().(*turnv1.EmbeddedResource_Data); ok {
			r["blob"] = data.Data
		} else {
			r["text"] = p.Resource.GetText()
		}
		return map[string]any{"type": "resource", "resource": r}
	default:
		return map[string]any{"type": "text", "text": part.GetText()}
	}
}
