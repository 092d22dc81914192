package bedrock

import "encoding/json"

// body is a request of the Converse API.
type body struct {
	Messages []message  `json:"messages"`
	System   []any      `json:"system,omitempty"`
	Tools    *tools     `json:"toolConfig,omitempty"`
	Config   *inference `json:"inferenceConfig,omitempty"`
	// Fields are those that only some models take.
	Fields map[string]any `json:"additionalModelRequestFields,omitempty"`
	Output *outputConfig  `json:"outputConfig,omitempty"`
}

type inference struct {
	MaxTokens   int      `json:"maxTokens,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	TopP        *float64 `json:"topP,omitempty"`
	Stop        []string `json:"stopSequences,omitempty"`
}

// message is an entry of the conversation.
type message struct {
	Role string `json:"role"`
	// Content are of type block, or raw JSON that is returned as the provider sent it.
	Content []any `json:"content"`
}

// block is one of the things that a message has.
type block struct {
	Text     string      `json:"text,omitempty"`
	Image    *image      `json:"image,omitempty"`
	Document *document   `json:"document,omitempty"`
	Use      *toolUse    `json:"toolUse,omitempty"`
	Result   *toolResult `json:"toolResult,omitempty"`
	Cache    *cachePoint `json:"cachePoint,omitempty"`
}

type image struct {
	Format string `json:"format"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

// document needs a text beside it.
type document struct {
	Format string `json:"format"`
	Name   string `json:"name"`
	Source struct {
		Bytes []byte `json:"bytes"`
	} `json:"source"`
}

// cachePoint ends what the provider keeps for the next request.
type cachePoint struct {
	Type string `json:"type"`
}

type toolUse struct {
	ID    string          `json:"toolUseId"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

// tools are those that are offered.
type tools struct {
	Tools  []tool      `json:"tools"`
	Choice *toolChoice `json:"toolChoice,omitempty"`
}

type tool struct {
	Spec toolSpec `json:"toolSpec"`
}

type toolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Schema      schema `json:"inputSchema"`
}

type schema struct {
	JSON json.RawMessage `json:"json"`
}

// noParameters is the schema of a tool without parameters.
var noParameters = json.RawMessage(`{"properties":{},"type":"object"}`)
