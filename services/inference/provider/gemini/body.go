package gemini

import "encoding/json"

// body is a request of generateContent.
type body struct {
	System   *content         `json:"systemInstruction,omitempty"`
	Contents []content        `json:"contents"`
	Tools    []tools          `json:"tools,omitempty"`
	Choice   *toolConfig      `json:"toolConfig,omitempty"`
	Config   generationConfig `json:"generationConfig"`
}

type generationConfig struct {
	Temperature     *float64        `json:"temperature,omitempty"`
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	Thinking        *thinkingConfig `json:"thinkingConfig,omitempty"`
	generation
}

type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	Level           string `json:"thinkingLevel,omitempty"`
	Budget          *int   `json:"thinkingBudget,omitempty"`
}

// content is an entry of the conversation.
type content struct {
	Role string `json:"role,omitempty"`
	// Parts are of type part, or raw JSON that is returned as the provider sent it.
	Parts []any `json:"parts"`
}

// part is one of the things that a message has.
type part struct {
	Text     *string           `json:"text,omitempty"`
	Data     *blob             `json:"inlineData,omitempty"`
	Call     *functionCall     `json:"functionCall,omitempty"`
	Response *functionResponse `json:"functionResponse,omitempty"`
	// Signature is what the provider wants back with this part.
	Signature json.RawMessage `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MediaType string `json:"mimeType"`
	Data      []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
	// Parts are images, of type part.
	Parts []part `json:"parts,omitempty"`
}

// tools are those that are offered.
type tools struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}
