package anthropic

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// event is one event of the stream, with the fields that we read.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Model string `json:"model"`
		Usage usage  `json:"usage"`
		// Content and StopReason are those of servers that send the message as a whole.
		Content    []json.RawMessage `json:"content"`
		StopReason string            `json:"stop_reason"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type        string            `json:"type"`
		Text        provider.Fragment `json:"text"`
		Thinking    provider.Fragment `json:"thinking"`
		Signature   provider.Fragment `json:"signature"`
		PartialJSON provider.Fragment `json:"partial_json"`
		StopReason  string            `json:"stop_reason"`
	} `json:"delta"`
	Usage usage `json:"usage"`
}

// blockStart is a block, or its beginning.
type blockStart struct {
	Type     string            `json:"type"`
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Text     provider.Fragment `json:"text"`
	Thinking provider.Fragment `json:"thinking"`
	Input    json.RawMessage   `json:"input"`
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
	return &provider.Usage{Input: read, CachedInput: value(u.CacheRead), CacheWrite: value(u.CacheCreation), Output: value(u.Output)}
}

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	blocks map[int]*block // by the stream's index
	calls  int
	usage  usage
	name   string
	end    provider.Ending
	back   provider.Layout
}

// block is a tool call being received.
type block struct {
	index int             // ours
	input json.RawMessage // the input in the block's start
	some  bool            // arguments arrived
}

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.end.Certain() }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) { return failureOf(body) }

// Event implements provider.Reader. Unknown types are ignored.
func (s *stream) Event(e sse.Event) error {
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
	case "":
		if f, ok := failureOf(data); ok {
			return s.provider.id.Fault(s.model, f)
		}
	case "message_start":
		s.name = ev.Message.Model
		s.usage.update(ev.Message.Usage)
		if err := s.whole(ev.Message.Content); err != nil {
			return err
		}
		s.end.Event(len(ev.Message.Content) > 0, "") // a whole message
		s.end.Event(false, reason(ev.Message.StopReason))
	case "content_block_start":
		s.end.Event(true, "")
		return s.start(ev.Index, ev.Block)
	case "content_block_delta":
		s.end.Event(true, "")
		return s.delta(ev)
	case "content_block_stop":
		return s.stop(ev.Index)
	case "message_delta":
		s.usage.update(ev.Usage)
		s.end.Event(false, reason(ev.Delta.StopReason))
	case "message_stop":
		return io.EOF
	}
	return s.emit(provider.Delta{})
}

// whole takes the blocks of a message that is not streamed.
func (s *stream) whole(blocks []json.RawMessage) error {
	for i, raw := range blocks {
		if err := s.start(i, raw); err != nil {
			return err
		}
		if err := s.stop(i); err != nil {
			return err
		}
	}
	return nil
}

// start begins a block. Thinking is returned to the provider as it is; unknown blocks are ignored.
func (s *stream) start(index int, raw json.RawMessage) error {
	var begun blockStart
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &begun); err != nil {
			return s.provider.id.Malformed("block of a message", raw, err)
		}
	}
	switch begun.Type {
	case "tool_use":
		b := &block{index: s.calls, input: begun.Input}
		s.blocks[index] = b
		s.calls++
		s.back.Call(nil)
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, ID: begun.ID, Tool: s.names.Own(begun.Name)}})
	case "text":
		s.back.Text(string(begun.Text), nil)
		return s.emit(provider.Delta{Text: string(begun.Text)})
	case "thinking", "redacted_thinking":
		s.back.Begin(index, raw)
		return s.emit(provider.Delta{Reasoning: string(begun.Thinking)})
	default:
		return s.emit(provider.Delta{})
	}
}

func (s *stream) delta(ev event) error {
	d := ev.Delta
	switch d.Type {
	case "text_delta":
		s.back.Text(string(d.Text), nil)
		return s.emit(provider.Delta{Text: string(d.Text)})
	case "thinking_delta":
		s.back.More(ev.Index, "thinking", d.Thinking)
		return s.emit(provider.Delta{Reasoning: string(d.Thinking)})
	case "signature_delta":
		s.back.More(ev.Index, "signature", d.Signature)
		return s.emit(provider.Delta{})
	case "input_json_delta":
		b := s.blocks[ev.Index]
		if b == nil || d.PartialJSON == "" { // nil: a tool that the provider runs itself
			return s.emit(provider.Delta{})
		}
		b.some = true
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, Arguments: string(d.PartialJSON)}})
	default: // citations and future types
		return s.emit(provider.Delta{})
	}
}

// stop ends a block. Arguments that arrived with its start are emitted now.
func (s *stream) stop(index int) error {
	s.back.End(index)
	b := s.blocks[index]
	if b == nil || b.some || len(b.input) == 0 || string(b.input) == "null" || string(b.input) == "{}" {
		return s.emit(provider.Delta{})
	}
	b.some = true
	return s.emit(provider.Delta{Call: &provider.CallDelta{Index: b.index, Arguments: string(b.input)}})
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	if s.end.Reason() == "" {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.id.Name)
	}
	return provider.Finished{
		Reason: s.end.Reason(), Model: s.name, Usage: s.usage.domain(), Verbatim: s.back.Verbatim(s.provider.issuer),
	}, nil
}

// reason maps a stop reason, "" to itself. A paused turn ends here: only tools that the provider runs itself can pause it.
func reason(theirs string) string {
	switch theirs {
	case "":
		return ""
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
