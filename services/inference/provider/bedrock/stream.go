package bedrock

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/aws/smithy-go/eventstream"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// event is one event of the stream, with the fields that we read.
type event struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		Use *struct {
			ID   string `json:"toolUseId"`
			Name string `json:"name"`
		} `json:"toolUse"`
	} `json:"start"`
	Delta struct {
		Text provider.Fragment `json:"text"`
		Use  struct {
			Input provider.Fragment `json:"input"`
		} `json:"toolUse"`
		Reasoning *struct {
			Text      provider.Fragment `json:"text"`
			Signature provider.Fragment `json:"signature"`
			Redacted  json.RawMessage   `json:"redactedContent"`
		} `json:"reasoningContent"`
	} `json:"delta"`
	StopReason string `json:"stopReason"`
	Usage      *usage `json:"usage"`
}

type usage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
}

// domain converts usage and counts cached input as input, which the API keeps separate. Nil if none was reported.
func (u *usage) domain() *provider.Usage {
	if u == nil || u.Input+u.CacheRead+u.CacheWrite <= 0 {
		return nil
	}
	return &provider.Usage{
		Input: u.Input + u.CacheRead + u.CacheWrite, CachedInput: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output,
	}
}

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	blocks map[int]int // our index of a call, by the stream's
	calls  int
	reason string
	usage  *provider.Usage
	back   provider.Layout
}

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.reason != "" }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) {
	f := provider.ReadFailure(body)
	return f, json.Valid(body) && f.Message != ""
}

// statusOf are the HTTP statuses of exceptions in a stream.
var statusOf = map[string]int{
	"throttlingexception": http.StatusTooManyRequests, "validationexception": http.StatusBadRequest,
	"modelstreamerrorexception": http.StatusFailedDependency, "modeltimeoutexception": http.StatusRequestTimeout,
	"internalserverexception": http.StatusInternalServerError, "serviceunavailableexception": http.StatusServiceUnavailable,
}

// Event implements provider.Reader. Events of other types are ignored.
func (s *stream) Event(e sse.Event) error {
	if e.ID == eventstream.ExceptionMessageType || e.ID == eventstream.ErrorMessageType {
		f := provider.ReadFailure(e.Data)
		f.Kind, f.Status = e.Type, statusOf[strings.ToLower(e.Type)]
		return s.provider.client.Fault(s.model, f)
	}
	var ev event
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return s.provider.client.Malformed("event of a conversation", e.Data, err)
	}
	switch e.Type {
	case "contentBlockStart":
		if u := ev.Start.Use; u != nil {
			s.blocks[ev.Index] = s.calls
			s.calls++
			s.back.Call(nil)
			return s.emit(provider.Delta{Call: &provider.CallDelta{Index: s.calls - 1, ID: u.ID, Tool: s.names.Own(u.Name)}})
		}
	case "contentBlockDelta":
		return s.delta(ev)
	case "contentBlockStop":
		s.back.End(ev.Index)
	case "messageStop":
		return s.stop(ev.StopReason)
	case "metadata":
		s.usage = ev.Usage.domain()
	}
	return s.emit(provider.Delta{})
}

func (s *stream) delta(ev event) error {
	d := ev.Delta
	switch call, ok := s.blocks[ev.Index]; {
	case d.Reasoning != nil:
		s.reasoning(ev)
		return s.emit(provider.Delta{Reasoning: string(d.Reasoning.Text)})
	case ok:
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: call, Arguments: string(d.Use.Input)}})
	}
	s.back.Text(string(d.Text), nil)
	return s.emit(provider.Delta{Text: string(d.Text)})
}

// reasoning keeps a piece of reasoning: words and a signature, or what the provider does not show.
func (s *stream) reasoning(ev event) {
	d := ev.Delta.Reasoning
	if d.Redacted != nil {
		if raw, err := json.Marshal(map[string]json.RawMessage{redactedField: d.Redacted}); err == nil {
			s.back.Block(raw)
		}
		return
	}
	if !s.back.Begun(ev.Index) {
		s.back.Begin(ev.Index, json.RawMessage(`{}`))
	}
	s.back.More(ev.Index, "text", d.Text)
	if d.Signature != "" {
		s.back.More(ev.Index, "signature", d.Signature)
	}
}

// stop ends the message; the usage follows.
func (s *stream) stop(reason string) error {
	switch reason {
	case "tool_use":
		s.reason = provider.ToolCalls
	case "max_tokens", "model_context_window_exceeded":
		s.reason = provider.Length
	case "guardrail_intervened", "content_filtered":
		s.reason = provider.ContentFilter
	case "malformed_model_output", "malformed_tool_use":
		return provider.Broken("%s gave up in the middle of its answer: %s", s.provider.client.Name, reason)
	default: // end_turn, stop_sequence
		s.reason = provider.Stop
	}
	return s.emit(provider.Delta{})
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	if s.reason == "" {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.client.Name)
	}
	return provider.Finished{Reason: s.reason, Usage: s.usage, Verbatim: s.back.Verbatim(s.provider.issuer)}, nil
}
