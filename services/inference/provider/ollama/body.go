package ollama

import "encoding/json"

// body is a request of the chat API.
type body struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []tool    `json:"tools,omitempty"`
	// Think has the reasoning come apart from the text: true, false or a level; nil leaves it to the server.
	Think  any             `json:"think,omitempty"`
	Format json.RawMessage `json:"format,omitempty"`
	Stream bool            `json:"stream"`
	// Truncate and Shift are false: a conversation that is too long is an error, and none of it is dropped.
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Options  options `json:"options"`
}

type options struct {
	// NumCtx is the size of the context window in tokens.
	NumCtx      int      `json:"num_ctx,omitempty"`
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	sampling
}

// message is an entry of the conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	// Thinking is reasoning that is returned.
	Thinking string `json:"thinking,omitempty"`
	// Images are encoded in Base64.
	Images    [][]byte   `json:"images,omitempty"`
	ToolCalls []madeCall `json:"tool_calls,omitempty"`
	// ToolName and ToolCallID are those of a result.
	ToolName   string `json:"tool_name,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// madeCall is a call that the model made.
type madeCall struct {
	ID       string       `json:"id"`
	Function madeFunction `json:"function"`
}

type madeFunction struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// tool is one that is offered.
type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// noParameters is the schema of a tool without parameters.
var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)
