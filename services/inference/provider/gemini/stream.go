package gemini

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// response is one event of the stream, with the fields that we read.
type response struct {
	Error      json.RawMessage `json:"error"`
	Model      string          `json:"modelVersion"`
	Candidates []candidate     `json:"candidates"`
	Feedback   struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage `json:"usageMetadata"`
}

type candidate struct {
	Index   int `json:"index"`
	Content struct {
		Parts []json.RawMessage `json:"parts"`
	} `json:"content"`
	FinishReason  string `json:"finishReason"`
	FinishMessage string `json:"finishMessage"`
}

// sentPart is a part of an answer.
type sentPart struct {
	Text    *provider.Fragment `json:"text"`
	Thought bool               `json:"thought"`
	Call    *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Signature json.RawMessage `json:"thoughtSignature"`
}

// extras are what comes with a text or a call.
type extras struct {
	Signature json.RawMessage `json:"signature,omitempty"`
	// ID is the provider's id of a call.
	ID string `json:"id,omitempty"`
}

// raw returns the extras as they are kept; nil if there are none.
func (e extras) raw() json.RawMessage {
	if e.Signature == nil && e.ID == "" {
		return nil
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil // raw JSON and text always encode
	}
	return raw
}

type usage struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Tools      int64 `json:"toolUsePromptTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
}

// domain converts usage; nil if the server does not count.
func (u *usage) domain() *provider.Usage {
	if u == nil || u.Prompt <= 0 {
		return nil
	}
	return &provider.Usage{Input: u.Prompt + u.Tools, CachedInput: u.Cached, Output: u.Candidates + u.Thoughts, Reasoning: u.Thoughts}
}

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	calls int
	usage *provider.Usage
	name  string
	end   provider.Ending
	back  provider.Layout
}

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.end.Certain() }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) {
	list := make([]response, 1)
	if json.Unmarshal(body, &list[0]) != nil && (json.Unmarshal(body, &list) != nil || len(list) == 0) || list[0].Error == nil {
		return provider.Failure{}, false
	}
	return provider.ReadFailure(body), true
}

// Event implements provider.Reader.
func (s *stream) Event(e sse.Event) error {
	data := bytes.TrimSpace(e.Data)
	if len(data) == 0 {
		return s.emit(provider.Delta{})
	}
	var r response
	if err := json.Unmarshal(data, &r); err != nil {
		return s.provider.client.Malformed("event of an answer", data, err)
	}
	if r.Error != nil {
		return s.provider.client.Fault(s.model, provider.ReadFailure(data))
	}
	if r.Model != "" {
		s.name = r.Model
	}
	if u := r.Usage.domain(); u != nil {
		s.usage = u
	}
	if r.Feedback.BlockReason != "" {
		s.end.Event(false, provider.ContentFilter)
	}
	for _, c := range r.Candidates {
		if c.Index != 0 {
			continue
		}
		if err := s.candidate(c); err != nil {
			return err
		}
	}
	return s.emit(provider.Delta{})
}

func (s *stream) candidate(c candidate) error {
	for _, raw := range c.Content.Parts {
		if err := s.part(raw); err != nil {
			return err
		}
	}
	reason, ok := reasons[c.FinishReason]
	if !ok {
		return provider.Broken("%s gave up in the middle of its answer: %s %s", s.provider.client.Name, c.FinishReason, c.FinishMessage)
	}
	s.end.Event(len(c.Content.Parts) > 0, reason)
	return nil
}

// reasons are the finish reasons of an answer that can be used; "" while it goes on.
var reasons = map[string]string{
	"": "", "FINISH_REASON_UNSPECIFIED": "",
	"STOP": provider.Stop, "MAX_TOKENS": provider.Length,
	"SAFETY": provider.ContentFilter, "RECITATION": provider.ContentFilter, "BLOCKLIST": provider.ContentFilter,
	"PROHIBITED_CONTENT": provider.ContentFilter, "SPII": provider.ContentFilter, "LANGUAGE": provider.ContentFilter,
	"IMAGE_SAFETY": provider.ContentFilter, "IMAGE_PROHIBITED_CONTENT": provider.ContentFilter, "MODEL_ARMOR": provider.ContentFilter,
}

// part reads a part. One without a text and a call would be missing in the answer.
func (s *stream) part(raw json.RawMessage) error {
	var p sentPart
	if err := json.Unmarshal(raw, &p); err != nil {
		return s.provider.client.Malformed("part of an answer", raw, err)
	}
	with := extras{Signature: p.Signature}
	switch {
	case p.Call != nil:
		with.ID = p.Call.ID
		s.back.Call(with.raw())
		arguments := string(p.Call.Args)
		if arguments == "null" {
			arguments = ""
		}
		s.calls++
		return s.emit(provider.Delta{Call: &provider.CallDelta{
			Index: s.calls - 1, ID: p.Call.ID, Tool: s.names.Own(p.Call.Name), Arguments: arguments,
		}})
	case p.Thought && p.Text != nil:
		if p.Signature != nil {
			s.back.Block(slices.Clone(raw))
		}
		return s.emit(provider.Delta{Reasoning: string(*p.Text)})
	case p.Text != nil:
		s.back.Text(string(*p.Text), with.raw())
		return s.emit(provider.Delta{Text: string(*p.Text)})
	case p.Signature != nil:
		s.back.Text("", with.raw())
		return nil
	}
	return provider.Broken("the answer of %s has a part that cannot be read: %.100s", s.provider.client.Name, raw)
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	if s.end.Reason() == "" {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.client.Name)
	}
	return provider.Finished{Reason: s.end.Reason(), Model: s.name, Usage: s.usage, Verbatim: s.back.Verbatim(s.provider.issuer)}, nil
}
