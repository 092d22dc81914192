package responses

import "encoding/json"

// body is a request of the responses API.
type body struct {
	Model        string `json:"model"`
	Instructions string `json:"instructions,omitempty"`
	// Input are items: of type message, functionCall or output, or raw JSON that is returned as the provider sent it.
	Input           []any    `json:"input"`
	Tools           []tool   `json:"tools,omitempty"`
	Include         []string `json:"include,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	generation
	Store  bool `json:"store"`
	Stream bool `json:"stream"`
}

// message is a message of the conversation.
type message struct {
	Role string `json:"role"`
	// Content is text or a list of contentPart.
	Content any    `json:"content"`
	Phase   string `json:"phase,omitempty"`
}

// contentPart is text, an image or a document.
type contentPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Name     string `json:"filename,omitempty"`
	Data     string `json:"file_data,omitempty"`
}

// functionCall is a call that the model made.
type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// output is the result of a call.
type output struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	// Output is text or a list of contentPart.
	Output any `json:"output"`
}

// tool is one that is offered.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict would want each property to be required; the API's default is true.
	Strict bool `json:"strict"`
}
