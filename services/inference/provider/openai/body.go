package openai

import (
	"encoding/json"
)

// body is a request of the chat completions API.
type body struct {
	Model string `json:"model"`
	// Messages are of type message, some with more fields.
	Messages    []any    `json:"messages"`
	Tools       []tool   `json:"tools,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	// MaxCompletionTokens is what OpenAI's newer models call the limit; most other servers know MaxTokens only.
	MaxCompletionTokens int `json:"max_completion_tokens,omitempty"`
	MaxTokens           int `json:"max_tokens,omitempty"`
	generation
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// message is an entry of the conversation.
type message struct {
	Role string `json:"role"`
	// Content is text or a list of contentPart; nil for none.
	Content any `json:"content,omitempty"`
	// ToolCalls are of type madeCall, some with more fields.
	ToolCalls  []any  `json:"tool_calls,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// contentPart is text, an image, a sound or a document.
type contentPart struct {
	Type  string      `json:"type"`
	Text  string      `json:"text,omitempty"`
	Image *imageURL   `json:"image_url,omitempty"`
	Audio *inputAudio `json:"input_audio,omitempty"`
	File  *inputFile  `json:"file,omitempty"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type inputFile struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

type imageURL struct {
	URL string `json:"url"`
}

// madeCall is a call that the model made.
type madeCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function madeFunction `json:"function"`
}

type madeFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// tool is one that is offered.
type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// typeFunction is the only type of tools.
const typeFunction = "function"
