package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/enum"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Schema is what this worker speaks.
const Schema = "windlass.executor/v1"

// The JSON form of windlass.executor.v1, as docs/reference/executor-protocol.md has it.
type (
	wireInvocation struct {
		Schema            string           `json:"schema"`
		Type              string           `json:"type"`
		Mode              string           `json:"mode"`
		InvocationID      string           `json:"invocation_id"`
		Attempt           uint32           `json:"attempt"`
		SessionID         string           `json:"session_id"`
		TurnID            string           `json:"turn_id"`
		ExecutorSessionID string           `json:"executor_session_id,omitempty"`
		Deadline          string           `json:"deadline,omitempty"`
		Tenant            string           `json:"tenant"`
		Subject           string           `json:"subject"`
		Agent             wireAgent        `json:"agent"`
		Input             []wireMessage    `json:"input"`
		ToolResults       []wireToolResult `json:"tool_results"`
		Conversation      []wireMessage    `json:"conversation"`
		Truncated         bool             `json:"conversation_truncated,omitempty"`
	}
	wireAgent struct {
		ID              string     `json:"id"`
		Revision        uint32     `json:"revision"`
		Instructions    string     `json:"instructions"`
		Model           string     `json:"model"`
		Temperature     *float64   `json:"temperature,omitempty"`
		MaxOutputTokens int32      `json:"max_output_tokens,omitempty"`
		MaxSteps        uint32     `json:"max_steps"`
		Tools           []wireTool `json:"tools"`
	}
	wireTool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	wireMessage struct {
		Role       string            `json:"role"`
		Text       string            `json:"text"`
		Content    []json.RawMessage `json:"content,omitempty"`
		ToolCalls  []wireToolCall    `json:"tool_calls,omitempty"`
		ToolResult *wireToolResult   `json:"tool_result,omitempty"`
	}
	wireToolCall struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	wireToolResult struct {
		Type       string            `json:"type,omitempty"`
		ID         string            `json:"id"`
		Name       string            `json:"name"`
		Text       string            `json:"text"`
		Content    []json.RawMessage `json:"content,omitempty"`
		Structured json.RawMessage   `json:"structured_content,omitempty"`
		IsError    bool              `json:"is_error,omitempty"`
		Truncated  bool              `json:"truncated,omitempty"`
	}
	wireInput struct {
		Type string `json:"type"`
		wireMessage
	}
	wireContinue struct {
		Type         string `json:"type"`
		InvocationID string `json:"invocation_id"`
		Attempt      uint32 `json:"attempt"`
	}
)

// Encode returns the JSON of a request, on one line without its end.
func Encode(req *executorv1.RunRequest) ([]byte, error) {
	var value any
	var err error
	switch r := req.GetRequest().(type) {
	case *executorv1.RunRequest_Invocation:
		value, err = invocationJSON(r.Invocation)
	case *executorv1.RunRequest_ToolResult:
		var result wireToolResult
		result, err = resultJSON(r.ToolResult)
		result.Type = "tool_result"
		value = result
	case *executorv1.RunRequest_Input:
		var message wireMessage
		message, err = messageJSON(r.Input)
		value = wireInput{"input", message}
	case *executorv1.RunRequest_Continue:
		value = wireContinue{"continue", r.Continue.GetInvocationId(), r.Continue.GetAttempt()}
	default:
		return nil, fmt.Errorf("encode %T", req.GetRequest())
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

func invocationJSON(in *executorv1.Invocation) (wireInvocation, error) {
	out := wireInvocation{
		Schema: in.GetSchema(), Type: "invocation", Mode: "start", InvocationID: in.GetInvocationId(), Attempt: in.GetAttempt(),
		SessionID: in.GetSessionId(), TurnID: in.GetTurnId(), ExecutorSessionID: in.GetExecutorSessionId(), Tenant: in.GetTenant(),
		Subject: in.GetSubject(), Truncated: in.GetConversationTruncated(), ToolResults: []wireToolResult{},
		Agent: wireAgent{
			ID: in.GetAgent().GetId(), Revision: in.GetAgent().GetRevision(), Instructions: in.GetAgent().GetInstructions(),
			Model: in.GetAgent().GetModel(), MaxOutputTokens: in.GetAgent().GetMaxOutputTokens(),
			MaxSteps: in.GetAgent().GetMaxSteps(), Tools: []wireTool{},
		},
	}
	if a := in.GetAgent(); a != nil {
		out.Agent.Temperature = a.Temperature
	}
	if in.GetMode() == executorv1.Mode_MODE_RESUME {
		out.Mode = "resume"
	}
	if in.GetDeadline() != nil {
		out.Deadline = in.GetDeadline().AsTime().Format(time.RFC3339Nano)
	}
	for _, t := range in.GetAgent().GetTools() {
		out.Agent.Tools = append(out.Agent.Tools, wireTool{t.GetName(), t.GetDescription(), asJSON(t.GetInputSchemaJson())})
	}
	var err error
	if out.Input, err = messagesJSON(in.GetInput()); err != nil {
		return out, err
	}
	if out.Conversation, err = messagesJSON(in.GetConversation()); err != nil {
		return out, err
	}
	for _, r := range in.GetToolResults() {
		result, err := resultJSON(r)
		if err != nil {
			return out, err
		}
		out.ToolResults = append(out.ToolResults, result)
	}
	return out, nil
}

func messagesJSON(messages []*turnv1.Message) ([]wireMessage, error) {
	out := make([]wireMessage, 0, len(messages))
	for _, m := range messages {
		message, err := messageJSON(m)
		if err != nil {
			return nil, err
		}
		out = append(out, message)
	}
	return out, nil
}

func messageJSON(m *turnv1.Message) (out wireMessage, err error) {
	out.Role = enum.Name(m.GetRole())
	if out.Text, out.Content, err = contentJSON(m.GetContent()); err != nil {
		return out, err
	}
	for _, c := range m.GetToolCalls() {
		out.ToolCalls = append(out.ToolCalls, wireToolCall{c.GetCallId(), c.GetTool(), asJSON(c.GetArgumentsJson())})
	}
	if r := m.GetToolResult(); r != nil {
		result, err := resultJSON(r)
		if err != nil {
			return out, err
		}
		out.Text, out.ToolResult = result.Text, &result
	}
	return out, nil
}

func resultJSON(r *turnv1.ToolResult) (out wireToolResult, err error) {
	out = wireToolResult{ID: r.GetCallId(), Name: r.GetTool(), IsError: r.GetIsError(), Truncated: r.GetTruncated()}
	if out.Text, out.Content, err = contentJSON(r.GetContent()); err != nil {
		return out, err
	}
	if r.GetStructuredContent() != nil {
		out.Structured = canon.ValueJSON(r.GetStructuredContent())
	}
	return out, nil
}

// contentJSON returns the text of all parts, and the parts as REST has them where some are no text.
func contentJSON(parts []*turnv1.ContentPart) (string, []json.RawMessage, error) {
	var texts []string
	var all []json.RawMessage
	plain := true
	for _, p := range parts {
		if t, ok := p.GetPart().(*turnv1.ContentPart_Text); ok {
			texts = append(texts, t.Text)
		} else {
			plain = false
		}
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(p)
		if err != nil {
			return "", nil, fmt.Errorf("encode content: %w", err)
		}
		all = append(all, raw)
	}
	if plain {
		all = nil
	}
	return strings.Join(texts, "\n"), all, nil
}

// asJSON is a text that should be JSON; a string when it is not.
func asJSON(text string) json.RawMessage {
	switch {
	case text == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(text)
	if err != nil { // strings always encode
		return json.RawMessage("{}")
	}
	return quoted
}
