package anthropic

import (
	"encoding/base64"
	"encoding/json"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// body is a request of the messages API.
type body struct {
	Model       string      `json:"model"`
	MaxTokens   int         `json:"max_tokens"`
	System      []any       `json:"system,omitempty"`
	Messages    []message   `json:"messages"`
	Tools       []tool      `json:"tools,omitempty"`
	ToolChoice  *toolChoice `json:"tool_choice,omitempty"`
	Temperature *float64    `json:"temperature,omitempty"`
	generation
	Stream bool `json:"stream"`
}

// message is an entry of the conversation.
type message struct {
	Role string `json:"role"`
	// Content are blocks: of type contentBlock, or raw JSON that is returned as the provider sent it.
	Content []any `json:"content"`
}

// contentBlock is a part of a message; each type has its own fields.
type contentBlock struct {
	Type string `json:"type"`
	// Text is that of a text.
	Text string `json:"text,omitempty"`
	// Source is that of an image or a document, Title that of a document.
	Source *source `json:"source,omitempty"`
	Title  string  `json:"title,omitempty"`
	// ID, Name and Input are those of a call.
	ID    string          `json:"id,omitempty"`
	Name  string          `json:"name,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
	// ToolUseID, Content and IsError are those of a result.
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Content   []contentBlock `json:"content,omitempty"`
	IsError   bool           `json:"is_error,omitempty"`
	Cache     *cacheControl  `json:"cache_control,omitempty"`
}

// source is the data of an image or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// tool is one that is offered.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cacheControl   `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
	// OneCall keeps the model from calling several tools at once.
	OneCall bool `json:"disable_parallel_tool_use,omitempty"`
}

// noParameters is the schema of a tool without parameters.
var noParameters = json.RawMessage(`{"properties":{},"type":"object"}`)

func textBlock(text string) contentBlock { return contentBlock{Type: "text", Text: text} }

// sourceBlock is an image or a document.
func sourceBlock(kind string, b *turnv1.Blob) contentBlock {
	return contentBlock{Type: kind, Source: &source{
		Type: "base64", MediaType: b.GetMediaType(), Data: base64.StdEncoding.EncodeToString(b.GetData()),
	}}
}
