// Package result converts the results of MCP tools to messages of the mesh.
package result

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

const (
	// MaxBytes limits a result: what a message of the mesh holds.
	MaxBytes = 15 << 20
	// maxValues limits the values of a result.
	maxValues = 200_000
)

// Limits of the messages of the mesh.
const (
	maxURI       = 4096
	maxMediaType = 255
)

// ToProto converts a result, of which limit bytes are allowed. Unknown content stays as JSON text; it never fails.
func (d Raw) ToProto(limit int) *mcpbridgev1.CallToolResult {
	if d.bytes > limit {
		return TooLarge(fmt.Sprintf("the result has %d bytes, %d are allowed", d.bytes, limit))
	}
	if d.values > maxValues {
		return TooLarge(fmt.Sprintf("the result has more than %d values", maxValues))
	}
	res := &mcpbridgev1.CallToolResult{IsError: d.isError, Content: make([]*turnv1.ContentPart, 0, len(d.content))}
	for _, part := range d.content {
		res.Content = append(res.Content, partToProto(part))
	}
	if len(d.structured) > 0 && string(d.structured) != "null" {
		v, err := valueToProto(d.structured)
		if err != nil {
			return Error("the tool's structured result cannot be passed on: " + err.Error())
		}
		res.StructuredContent = v
	}
	if size := proto.Size(res); size > MaxBytes {
		return TooLarge(fmt.Sprintf("the result takes %d bytes, %d are allowed", size, MaxBytes))
	}
	return res
}

// valueToProto reads any JSON value.
func valueToProto(raw json.RawMessage) (*structpb.Value, error) {
	if _, depth := canon.Measure(raw); depth > maxDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	v, err := canon.ParseValue(raw)
	if err != nil {
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
			URI      string  `json:"uri"`
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
		if len(d.URI) <= maxURI {
			return &turnv1.ContentPart{Part: &turnv1.ContentPart_Link{Link: &turnv1.ResourceLink{Uri: d.URI, Name: d.Name, MediaType: d.MimeType}}}
		}
	case "resource":
		r := &turnv1.EmbeddedResource{Uri: d.Resource.URI, MediaType: d.Resource.MimeType}
		if len(r.GetUri()) > maxURI || len(r.GetMediaType()) > maxMediaType {
			break
		}
		if d.Resource.Text != nil {
			r.Content = &turnv1.EmbeddedResource_Text{Text: strings.ToValidUTF8(*d.Resource.Text, "\uFFFD")}
		} else if d.Resource.Blob != nil {
			b, err := base64.StdEncoding.DecodeString(*d.Resource.Blob)
			if err != nil {
				break
			}
			r.Content = &turnv1.EmbeddedResource_Data{Data: b}
		}
		return &turnv1.ContentPart{Part: &turnv1.ContentPart_Resource{Resource: r}}
	}
	return text(string(raw))
}

func text(s string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: strings.ToValidUTF8(s, "\uFFFD")}}
}

// blob returns nil if data is not base64 or the media type is too long.
func blob(mediaType, data string) *turnv1.ContentPart {
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(mediaType) > maxMediaType {
		return nil
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Blob{Blob: &turnv1.Blob{MediaType: mediaType, Data: b}}}
}

// Failure returns the result of a call that was answered with a JSON-RPC error.
func Failure(code int, message string) *mcpbridgev1.CallToolResult {
	if message == "" {
		message = "the server gave no reason"
	}
	return Error(fmt.Sprintf("%s (error %d)", Excerpt([]byte(message)), code))
}

// Error returns a result with is_error.
func Error(why string) *mcpbridgev1.CallToolResult {
	return &mcpbridgev1.CallToolResult{Content: []*turnv1.ContentPart{text(why)}, IsError: true}
}

// TooLarge returns the result of a call whose answer exceeds a limit.
func TooLarge(why string) *mcpbridgev1.CallToolResult {
	return Error("TOO_LARGE: " + why + "; ask the tool for less")
}

// Excerpt truncates a text for people.
func Excerpt(b []byte) string {
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
