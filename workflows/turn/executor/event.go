package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/windlass-dev/windlass/libs/truncate"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// wireEvent is any event, flat.
type wireEvent struct {
	Schema            string          `json:"schema"`
	Type              string          `json:"type"`
	ExecutorSessionID string          `json:"executor_session_id"`
	Text              string          `json:"text"`
	ID                string          `json:"id"`
	Name              string          `json:"name"`
	Arguments         json.RawMessage `json:"arguments"`
	InputTokens       float64         `json:"input_tokens"`
	OutputTokens      float64         `json:"output_tokens"`
	CachedInputTokens float64         `json:"cached_input_tokens"`
	ReasoningTokens   float64         `json:"reasoning_tokens"`
	ModelCalls        float64         `json:"model_calls"`
	CostMicros        float64         `json:"cost_micros"`
	Code              string          `json:"code"`
	Message           string          `json:"message"`
	Retryable         bool            `json:"retryable"`
	RetryAfterMs      float64         `json:"retry_after_ms"`
	Stay              bool            `json:"stay"`
	Model             string          `json:"model"`
	FinishReason      string          `json:"finish_reason"`
}

// Decode reads one event line. An event of a type that is not known is one without content; a blank line is nil. Invalid UTF-8 becomes
// replacement characters.
func Decode(line []byte) (*executorv1.RunResponse, error) {
	line = bytes.ToValidUTF8(bytes.TrimSpace(line), []byte("\uFFFD"))
	if len(line) == 0 {
		return nil, nil
	}
	if line[0] != '{' {
		return nil, fmt.Errorf("want one JSON object a line, got %q: write everything else to the error output", truncate.Chars(string(line), 80))
	}
	var e wireEvent
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, fmt.Errorf("%q: %w", truncate.Chars(string(line), 80), plainJSON(err))
	}
	out := &executorv1.RunResponse{Schema: e.Schema}
	switch e.Type {
	case "":
		return nil, errors.New(`an event without "type"`)
	case "session":
		out.Event = &executorv1.RunResponse_Session{Session: &executorv1.Session{ExecutorSessionId: e.ExecutorSessionID}}
	case "text.delta":
		out.Event = &executorv1.RunResponse_TextDelta{TextDelta: e.Text}
	case "reasoning.delta":
		out.Event = &executorv1.RunResponse_ReasoningDelta{ReasoningDelta: e.Text}
	case "tool_call":
		arguments, err := argumentsOf(e.Arguments)
		if err != nil {
			return nil, err
		}
		out.Event = &executorv1.RunResponse_ToolCall{ToolCall: &turnv1.ToolCall{CallId: e.ID, Tool: e.Name, ArgumentsJson: arguments}}
	case "usage":
		out.Event = &executorv1.RunResponse_Usage{Usage: &turnv1.Usage{
			InputTokens: count(e.InputTokens), OutputTokens: count(e.OutputTokens), CachedInputTokens: count(e.CachedInputTokens),
			ReasoningTokens: count(e.ReasoningTokens), ModelCalls: count(e.ModelCalls), CostMicros: cost(e.CostMicros),
		}}
	case "answer":
		out.Event = &executorv1.RunResponse_Answer{Answer: e.Text}
	case "error":
		out.Event = &executorv1.RunResponse_Error{Error: &executorv1.Error{
			Code: e.Code, Message: e.Message, Retryable: e.Retryable, RetryAfterMs: count(e.RetryAfterMs),
		}}
	case "end":
		out.Event = &executorv1.RunResponse_End{End: &executorv1.End{Stay: e.Stay, Model: e.Model, FinishReason: e.FinishReason}}
	}
	return out, nil
}

// argumentsOf takes arguments as an object, or as a text that holds one, as models write them. A text is passed on as it is.
func argumentsOf(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0, bytes.Equal(raw, []byte("null")):
		return "{}", nil
	case raw[0] == '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	case raw[0] != '{':
		return "", fmt.Errorf("arguments of a tool_call must be an object, got %q", truncate.Chars(string(raw), 40))
	}
	return string(raw), nil
}

// count reads a number that should be a whole one.
func count(f float64) int32 {
	if math.IsNaN(f) || f < 0 {
		return 0
	}
	return int32(min(f, math.MaxInt32))
}

// cost reads an amount of money in millionths.
func cost(f float64) int64 {
	if math.IsNaN(f) || f < 0 {
		return 0
	}
	return int64(math.Ceil(min(f, maxCost)))
}

// plainJSON takes the names of our types out of an error.
func plainJSON(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s has the wrong type (%s)", e.Field, e.Value)
	}
	return err
}
