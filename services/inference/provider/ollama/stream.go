package ollama

import (
	"encoding/json"

	"github.com/windlass-dev/windlass/libs/sse"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// piece is one line of an answer, with the fields that we read.
type piece struct {
	Error   json.RawMessage `json:"error"`
	Model   string          `json:"model"`
	Message struct {
		Content   provider.Fragment `json:"content"`
		Thinking  provider.Fragment `json:"thinking"`
		ToolCalls []toolCall        `json:"tool_calls"`
	} `json:"message"`
	Done            bool   `json:"done"`
	DoneReason      string `json:"done_reason"`
	PromptEvalCount int64  `json:"prompt_eval_count"`
	CachedCount     int64  `json:"prompt_eval_cached_count"`
	EvalCount       int64  `json:"eval_count"`
}

// toolCall is a whole call.
type toolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	calls   int
	thought bool
	last    piece
	end     provider.Ending
}

// Framing implements provider.Framed.
func (*stream) Framing() provider.Framing { return provider.Lines() }

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.end.Certain() }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) {
	var p piece
	said := json.Unmarshal(body, &p) == nil && isSet(p.Error)
	if !said {
		return provider.Failure{}, false
	}
	return provider.ReadFailure(body), true
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Event implements provider.Reader.
func (s *stream) Event(e sse.Event) error {
	if len(e.Data) == 0 {
		return s.emit(provider.Delta{})
	}
	var p piece
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return s.provider.client.Malformed("piece of an answer", e.Data, err)
	}
	if isSet(p.Error) {
		return s.provider.client.Fault(s.model, provider.ReadFailure(e.Data))
	}
	s.thought = s.thought || p.Message.Thinking != ""
	pieces := []provider.Delta{{Reasoning: string(p.Message.Thinking)}, {Text: string(p.Message.Content)}}
	for _, tc := range p.Message.ToolCalls {
		pieces = append(pieces, provider.Delta{Call: &provider.CallDelta{
			Index: s.calls, ID: tc.ID, Tool: s.names.Own(tc.Function.Name), Arguments: arguments(tc.Function.Arguments),
		}})
		s.calls++
	}
	for _, d := range pieces {
		if err := s.emit(d); err != nil {
			return err
		}
	}
	reason := ""
	if p.Done {
		s.last, reason = p, provider.Stop
	}
	content := p.Message.Content != "" || p.Message.Thinking != "" || len(p.Message.ToolCalls) > 0
	s.end.Event(content, reason)
	return nil
}

// arguments returns the JSON text of a call's arguments, which some models' templates write as text.
func arguments(raw json.RawMessage) string {
	var text provider.Fragment
	if json.Unmarshal(raw, &text) == nil {
		return string(text)
	}
	return string(raw)
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	if !s.last.Done {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.client.Name)
	}
	out := provider.Finished{Reason: provider.Stop, Model: s.last.Model}
	if s.last.DoneReason == "length" {
		out.Reason = provider.Length
	}
	if s.thought {
		out.Verbatim = &turnv1.Verbatim{Issuer: s.provider.issuer, ReasoningFields: []string{thinking}}
	}
	if n := s.last.PromptEvalCount; n > 0 {
		out.Usage = &provider.Usage{Input: n, CachedInput: min(s.last.CachedCount, n), Output: s.last.EvalCount}
	}
	return out, nil
}
