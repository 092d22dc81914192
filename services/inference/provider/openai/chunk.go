package openai

import (
	"encoding/json"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// chunk is one event of the stream, with the fields that we read. Fields that servers encode differently stay raw.
type chunk struct {
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Delta        delta           `json:"delta"`
	FinishReason json.RawMessage `json:"finish_reason"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          json.RawMessage `json:"refusal"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ToolCalls        []toolCall      `json:"tool_calls"`
}

type toolCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	PromptDetails    *struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		ReasoningTokens int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// domain converts usage; nil if the server does not count.
func (u *usage) domain() *provider.Usage {
	if u == nil || u.PromptTokens <= 0 {
		return nil
	}
	out := &provider.Usage{Input: u.PromptTokens, Output: u.CompletionTokens}
	if u.PromptDetails != nil {
		out.CachedInput = u.PromptDetails.CachedTokens
	}
	if u.CompletionDetails != nil {
		out.Reasoning = u.CompletionDetails.ReasoningTokens
	}
	return out
}

// text returns a string, or the texts of a list of parts.
func text(raw json.RawMessage) string {
	if isNull(raw) {
		return ""
	}
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

// thoughts returns the reasoning text; some servers send it under both names.
func (d delta) thoughts() string {
	if t := text(d.ReasoningContent); t != "" {
		return t
	}
	return text(d.Reasoning)
}

// arguments returns the JSON text of a call's arguments, which are a string or an object.
func (c toolCall) arguments() string {
	raw := c.Function.Arguments
	if isNull(raw) {
		return ""
	}
	var plain string
	if json.Unmarshal(raw, &plain) == nil {
		return plain
	}
	return string(raw)
}

// reason maps a finish reason; "error" for a failed server, "" for none.
func reason(raw json.RawMessage) string {
	var word string
	if isNull(raw) || json.Unmarshal(raw, &word) != nil {
		return ""
	}
	switch strings.ToLower(word) {
	case "":
		return ""
	case "length", "max_tokens", "model_length", "max_output_tokens":
		return provider.Length
	case "tool_calls", "tool_use", "tool_call", "function_call":
		return provider.ToolCalls
	case "content_filter", "safety", "refusal", "recitation", "blocked":
		return provider.ContentFilter
	case "error":
		return "error"
	default: // stop, eos, end_turn, stop_sequence and other names
		return provider.Stop
	}
}
