package openai

import (
	"encoding/json"
	"fmt"
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
	Index int   `json:"index"`
	Delta delta `json:"delta"`
	// Message is the whole answer of servers that do not stream, Text that of an older API.
	Message      *delta          `json:"message"`
	Text         json.RawMessage `json:"text"`
	FinishReason json.RawMessage `json:"finish_reason"`
}

type delta struct {
	Content   json.RawMessage `json:"content"`
	Refusal   json.RawMessage `json:"refusal"`
	ToolCalls []toolCall      `json:"tool_calls"`
	// FunctionCall is what calls were before there could be several.
	FunctionCall *functionCall `json:"function_call"`
	others       map[string]json.RawMessage
}

type toolCall struct {
	Index    *int         `json:"index"`
	ID       string       `json:"id"`
	Function functionCall `json:"function"`
	others   map[string]json.RawMessage
}

type functionCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// UnmarshalJSON keeps the fields that are not read.
func (d *delta) UnmarshalJSON(raw []byte) error {
	type plain delta
	if err := json.Unmarshal(raw, (*plain)(d)); err != nil {
		return err
	}
	if mayReturn(raw) {
		d.others = others(raw, "content", "refusal", "role", "tool_calls", "function_call")
	}
	return nil
}

// UnmarshalJSON keeps the fields that are not read.
func (c *toolCall) UnmarshalJSON(raw []byte) error {
	type plain toolCall
	if err := json.Unmarshal(raw, (*plain)(c)); err != nil {
		return err
	}
	c.others = others(raw, "index", "id", "type", "function")
	return nil
}

// others returns the fields of an object but for those that are read; nil for none, as nearly always.
func others(raw []byte, read ...string) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	for _, name := range read {
		delete(all, name)
	}
	return all
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	// CacheHits is what DeepSeek calls the cached tokens.
	CacheHits     int64 `json:"prompt_cache_hit_tokens"`
	PromptDetails *struct {
		CachedTokens int64 `json:"cached_tokens"`
		WriteTokens  int64 `json:"cache_write_tokens"`
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
	out := &provider.Usage{Input: u.PromptTokens, Output: u.CompletionTokens, CachedInput: u.CacheHits}
	if d := u.PromptDetails; d != nil {
		out.CacheWrite = d.WriteTokens
		if d.CachedTokens > 0 {
			out.CachedInput = d.CachedTokens
		}
	}
	if u.CompletionDetails != nil {
		out.Reasoning = u.CompletionDetails.ReasoningTokens
	}
	return out
}

// text returns a string, the texts of a list of parts, or a number as it is written. Anything else is an error: it would be missing in the
// answer.
func text(raw json.RawMessage) (string, error) {
	if isNull(raw) {
		return "", nil
	}
	switch raw[0] {
	case '"':
		var t provider.Fragment
		err := json.Unmarshal(raw, &t)
		return string(t), err
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return "", err
		}
		var b strings.Builder
		for _, p := range parts {
			t, err := text(p)
			if err != nil {
				return "", err
			}
			b.WriteString(t)
		}
		return b.String(), nil
	case '{':
		var part struct {
			Type string          `json:"type"`
			Text json.RawMessage `json:"text"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return "", err
		}
		if part.Text == nil {
			return "", fmt.Errorf("a part of the type %q has no text", part.Type)
		}
		return text(part.Text)
	default:
		return string(raw), nil
	}
}

// thoughts returns the reasoning text, and the names of its fields: some servers send it under two names.
func (d delta) thoughts() (thoughts string, fields []string) {
	for _, name := range []string{"reasoning_content", "reasoning", "reasoning_text", "thinking"} {
		raw := d.others[name]
		if isNull(raw) || raw[0] != '"' {
			continue
		}
		if t, err := text(raw); err == nil {
			if fields = append(fields, name); thoughts == "" {
				thoughts = t
			}
		}
	}
	return thoughts, fields
}

// arguments returns the JSON text of a call's arguments, which are a string or an object.
func (f functionCall) arguments() string {
	raw := f.Arguments
	if isNull(raw) {
		return ""
	}
	var plain provider.Fragment
	if json.Unmarshal(raw, &plain) == nil {
		return string(plain)
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
