package mcpbridge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// maxDepth limits the nesting of structured content: readers of the mesh's messages have their own limit.
const maxDepth = 500

// resultToProto converts a tool's raw result. Unknown content stays as JSON text; it never fails.
func resultToProto(raw json.RawMessage, limit int) *mcpbridgev1.CallToolResult {
	if len(raw) > limit {
		return tooLarge(fmt.Sprintf("the result has %d bytes, %d are allowed", len(raw), limit))
	}
	if values, _ := canon.Measure(raw); values > maxValues {
		return tooLarge(fmt.Sprintf("the result has more than %d values", maxValues))
	}
	var d struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return errorResult("the tool's server answered something that is no tool result: " + excerpt(raw))
	}
	res := &mcpbridgev1.CallToolResult{IsError: d.IsError}
	for _, part := range d.Content {
		res.Content = append(res.Content, partToProto(part))
	}
	if len(d.Structured) > 0 && string(d.Structured) != "null" {
		v, err := valueToProto(d.Structured)
		if err != nil {
			return errorResult("the tool's structured result cannot be passed on: " + err.Error())
		}
		res.StructuredContent = v
	}
	if size := proto.Size(res); size > maxReplyBytes {
		return tooLarge(fmt.Sprintf("the result takes %d bytes, %d are allowed", size, maxReplyBytes))
	}
	return res
}

// valueToProto reads any JSON value.
func valueToProto(raw json.RawMessage) (*structpb.Value, error) {
	if _, depth := canon.Measure(raw); depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	v := &structpb.Value{}
	if err := v.UnmarshalJSON(raw); err != nil {
		return nil, fmt.Errorf("it is no plain JSON")
	}
	return v, nil
}

// partToProto converts one content part.
func partToProto(raw json.RawMessage) *turnv1.ContentPart {
	var d struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     string `json:"data"`
		MimeType string `json:"mimeType"`
		URI      string `json:"uri"`
		Name     string `json:"name"`
		Resource struct {
			Text     *string `json:"text"`
			Blob     *string `json:"blob"`
			MimeType string  `json:"mimeType"`
		} `json:"resource"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return text(string(raw))
	}
	switch d.Type {
	case "text":
		return text(d.Text)
	case "image", "audio":
		if p := blob(d.MimeType, d.Data); p != nil {
			return p
		}
	case "resource_link":
		if len(d.URI) <= 4096 {
			return &turnv1.ContentPart{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: d.URI, Name: d.Name, MediaType: d.MimeType}}}
		}
	case "resource":
		if d.Resource.Text != nil {
			return text(*d.Resource.Text)
		}
		if d.Resource.Blob != nil {
			if p := blob(d.Resource.MimeType, *d.Resource.Blob); p != nil {
				return p
			}
		}
	}
	return text(string(raw))
}

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: strings.ToValidUTF8(s, "\uFFFD")}}
}

// blob returns nil if data is not base64 or the media type is too long.
func blob(mediaType, data string) *turnv1.ContentPart {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(mediaType) > 255 {
		return nil
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: mediaType, Data: b}}}
}

// failureToProto returns the result of a call that was answered with a JSON-RPC error.
func failureToProto(code int, message string) *mcpbridgev1.CallToolResult {
	if message == "" {
		message = "the server gave no reason"
	}
	return errorResult(fmt.Sprintf("%s (error %d)", excerpt([]byte(message)), code))
}

// errorResult returns a result with is_error.
func errorResult(why string) *mcpbridgev1.CallToolResult {
	return &mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{text(why)}, IsError: true}
}

func tooLarge(why string) *mcpbridgev1.CallToolResult {
	return errorResult("TOO_LARGE: " + why + "; ask the tool for less")
}

// excerpt truncates a text for people.
func excerpt(b []byte) string {
	const most = 2000
	if len(b) > most {
		cut := b[:most]
		for len(cut) > 0 && !utf8.Valid(cut) && len(cut) > most-utf8.UTFMax {
			cut = cut[:len(cut)-1]
		}
		return string(cut) + "…"
	}
	return string(b)
}
