package anthropic

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// event is one event of the stream, with the fields that we read.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string `json:"model"`
		Usage usage  `json:"usage"`
	} `json:"message"`
	Block struct {
		Type     string          `json:"type"`
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Input    json.RawMessage `json:"input"`
	} `json:"content_block"`
	Delta struct {
		Type        string `json:"type"`
		Text        string `json:"text"`
		Thinking    string `json:"thinking"`
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// usage holds totals; missing ones were reported before.
type usage struct {
	Input         *int64 `json:"input_tokens"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheCreation *int64 `json:"cache_creation_input_tokens"`
	Output        *int64 `json:"output_tokens"`
}

func (u *usage) update(with usage) {
	for _, f := range []struct{ to, from **int64 }{
		{&u.Input, &with.Input}, {&u.CacheRead, &with.CacheRead}, {&u.CacheCreation, &with.CacheCreation}, {&u.Output, &with.Output},
	} {
		if *f.from != nil {
			*f.to = *f.from
		}
	}
}

// domain converts usage and counts cached input as input, which the API keeps separate. Nil if none was reported.
func (u *usage) domain() *provider.Usage {
	value := func(n *int64) int64 {
		if n == nil {
			return 0
		}
		return *n
	}
	read := value(u.Input) + value(u.CacheRead) + value(u.CacheCreation)
	if read == 0 {
		return nil
	}
	return &provider.Usage{Input: read, CachedInput: value(u.CacheRead), Output: value(u.Output)}
}

// stream reads one answer.
type stream struct {
	provider *Provider
	model    string
	emit     func(provider.Delta) error

	blocks map[int]*block // by the stream's index
	calls  int
	usage  usage
	name   string
	reason string
}

// block is a tool call being received.
type block struct {
	index int             // ours
	input json.RawMessage // the input in the block's start
	some  bool            // arguments arrived
}

// event handles one event; io.EOF ends the reading. Unknown types are ignored.
func (s *stream) event(e sse.Event) error {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 {
		return s.emit(provider.Delta{})
	}
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return s.provider.id.Malformed("event of a message", data, err)
	}
	switch ev.Type {
	case "error":
		f, _ := failureOf(data)
		return s.provider.id.Fault(s.model, f)
	case "message_start":
		s.name = ev.Message.Model
		s.usage.update(ev.Message.Usage)
	case "content_block_start":
		return s.start(ev)
	case "content_block_delta":
		return s.delta(ev)
	case "content_block_stop":
		return s.stop(ev)
	case "message_delta":
		s.usage.update(ev.Usage)
		if ev.Delta.StopReason != "" {
			s.reason = reason(ev.Delta.StopReason)
		}
	case "message_stop":
		return io.EOF
	}
	return s.emit(provider.Delta{})
}

// start begins a block. Redacted thinking and unknown blocks are ignored.
func (s *stream) start(ev event) error {
	switch ev.Block.Type {
	case "tool_use":
		b := &block{index: s.calls, input: ev.Block.Input}
		s.blocks[ev.Index] = b
		s.calls++
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, ID: ev.Block.ID, Tool: ev.Block.Name}})
	case "text":
		return s.emit(provider.Delta{Text: ev.Block.Text})
	case "thinking":
		return s.emit(provider.Delta{Reasoning: ev.Block.Thinking})
	default:
		return s.emit(provider.Delta{})
	}
}

func (s *stream) delta(ev event) error {
	switch ev.Delta.Type {
	case "text_delta":
		return s.emit(provider.Delta{Text: ev.Delta.Text})
	case "thinking_delta":
		return s.emit(provider.Delta{Reasoning: ev.Delta.Thinking})
	case "input_json_delta":
		b := s.blocks[ev.Index]
		if b == nil || ev.Delta.PartialJSON == "" { // nil: a tool that the provider runs itself
			return s.emit(provider.Delta{})
		}
		b.some = true
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, Arguments: ev.Delta.PartialJSON}})
	default: // signatures, citations and future types
		return s.emit(provider.Delta{})
	}
}

// stop ends a block. Arguments that arrived with its start are emitted now.
func (s *stream) stop(ev event) error {
	b := s.blocks[ev.Index]
	if b == nil || b.some || len(b.input) == 0 || string(b.input) == "null" || string(b.input) == "{}" {
		return s.emit(provider.Delta{})
	}
	b.some = true
	return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, Arguments: string(b.input)}})
}

// finish returns the end, or an error if the stream stopped early.
func (s *stream) finish() (provider.Finished, error) {
	if s.reason == "" {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.id.Name)
	}
	return provider.Finished{Reason: s.reason, Model: s.name, Usage: s.usage.domain()}, nil
}

// reason maps a stop reason. A paused turn ends here: only tools that the provider runs itself can pause it.
func reason(theirs string) string {
	switch theirs {
	case "max_tokens", "model_context_window_exceeded":
		return provider.Length
	case "tool_use":
		return provider.ToolCalls
	case "refusal":
		return provider.ContentFilter
	default: // end_turn, stop_sequence, pause_turn
		return provider.Stop
	}
}
