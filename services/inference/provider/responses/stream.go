package responses

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// event is one event of the stream, with the fields that we read.
type event struct {
	Type     string            `json:"type"`
	Index    int               `json:"output_index"`
	Item     json.RawMessage   `json:"item"`
	Delta    provider.Fragment `json:"delta"`
	Response response          `json:"response"`
	// SummaryIndex counts the parts of a summary.
	SummaryIndex int `json:"summary_index"`
}

// response is the answer as a whole.
type response struct {
	Model      string            `json:"model"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Usage      *usage            `json:"usage"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// sentItem is an item of the answer.
type sentItem struct {
	Type      string            `json:"type"`
	CallID    string            `json:"call_id"`
	Name      string            `json:"name"`
	Arguments provider.Fragment `json:"arguments"`
	Phase     json.RawMessage   `json:"phase"`
	Encrypted string            `json:"encrypted_content"`
	Content   []struct {
		Text    provider.Fragment `json:"text"`
		Refusal provider.Fragment `json:"refusal"`
	} `json:"content"`
}

type usage struct {
	Input        int64 `json:"input_tokens"`
	Output       int64 `json:"output_tokens"`
	InputDetails struct {
		Cached int64 `json:"cached_tokens"`
		Write  int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// domain converts usage; nil if the server does not count.
func (u *usage) domain() *provider.Usage {
	if u == nil || u.Input <= 0 {
		return nil
	}
	return &provider.Usage{
		Input: u.Input, CachedInput: u.InputDetails.Cached, CacheWrite: u.InputDetails.Write, Output: u.Output,
		Reasoning: u.OutputDetails.Reasoning,
	}
}

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	items   map[int]*item // by the stream's index
	calls   int
	summary int // the part of the summary that was read last
	end     provider.Finished
	back    provider.Layout
}

// item is an item being received.
type item struct {
	call int             // ours, of a call
	with json.RawMessage // what comes with its text
	some bool            // its text or arguments arrived
	done bool
}

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.end.Reason != "" }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &r) != nil || !isSet(r.Error) {
		return provider.Failure{}, false
	}
	return provider.ReadFailure(body), true
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// Event implements provider.Reader. Events that repeat what came, or that are for people who watch, are ignored.
func (s *stream) Event(e sse.Event) error {
	data := bytes.TrimSpace(e.Data)
	switch {
	case len(data) == 0:
		return s.emit(provider.Delta{})
	case bytes.HasPrefix(data, []byte("[DONE]")):
		return io.EOF
	}
	var ev event
	if err := json.Unmarshal(data, &ev); err != nil {
		return s.provider.client.Malformed("event of a response", data, err)
	}
	switch ev.Type {
	case "response.output_item.added":
		return s.begin(ev.Index, ev.Item)
	case "response.output_item.done":
		return s.finish(ev.Index, ev.Item)
	case "response.output_text.delta", "response.refusal.delta":
		it := s.item(ev.Index)
		it.some = true
		s.back.Text(string(ev.Delta), it.with)
		return s.emit(provider.Delta{Text: string(ev.Delta)})
	case "response.function_call_arguments.delta":
		it := s.item(ev.Index)
		it.some = true
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: it.call, Arguments: string(ev.Delta)}})
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		piece := string(ev.Delta)
		if ev.SummaryIndex > s.summary {
			piece = "\n\n" + piece
		}
		s.summary = ev.SummaryIndex
		return s.emit(provider.Delta{Reasoning: piece})
	case "response.completed", "response.incomplete":
		return s.complete(ev)
	case "response.failed":
		return s.provider.client.Fault(s.model, provider.ReadFailure(ev.Response.Error))
	case "error", "":
		return s.provider.client.Fault(s.model, provider.ReadFailure(data))
	}
	return s.emit(provider.Delta{})
}

// item returns the item with an index; one that did not begin is a message.
func (s *stream) item(index int) *item {
	if s.items[index] == nil {
		s.items[index] = &item{call: -1}
	}
	return s.items[index]
}

// read reads an item.
func (s *stream) read(raw json.RawMessage) (sentItem, error) {
	var sent sentItem
	if err := json.Unmarshal(raw, &sent); err != nil {
		return sent, s.provider.client.Malformed("item of a response", raw, err)
	}
	return sent, nil
}

// begin begins an item.
func (s *stream) begin(index int, raw json.RawMessage) error {
	sent, err := s.read(raw)
	if err != nil {
		return err
	}
	it := s.item(index)
	switch sent.Type {
	case "message":
		if isSet(sent.Phase) {
			it.with = slices.Clone(sent.Phase)
		}
	case "function_call":
		it.call = s.calls
		s.calls++
		s.back.Call(nil)
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: it.call, ID: sent.CallID, Tool: s.names.Own(sent.Name)}})
	}
	return s.emit(provider.Delta{})
}

// finish ends an item: what did not come in pieces is in it, and reasoning is complete only now. Items of other types are returned as well.
func (s *stream) finish(index int, raw json.RawMessage) error {
	sent, err := s.read(raw)
	if err != nil {
		return err
	}
	if s.items[index] == nil {
		if err := s.begin(index, raw); err != nil {
			return err
		}
	}
	it := s.items[index]
	done, some := it.done, it.some
	it.done, it.some = true, true
	switch {
	case done:
	case sent.Type == "message" && !some:
		for _, p := range sent.Content {
			s.back.Text(string(p.Text+p.Refusal), it.with)
			if err := s.emit(provider.Delta{Text: string(p.Text + p.Refusal)}); err != nil {
				return err
			}
		}
	case sent.Type == "function_call" && !some:
		return s.emit(provider.Delta{Call: &provider.CallDelta{Index: it.call, Arguments: string(sent.Arguments)}})
	case sent.Type == "reasoning" && sent.Encrypted == "": // the API stores nothing, so it could not find it again
	case sent.Type != "message" && sent.Type != "function_call":
		s.back.Block(slices.Clone(raw))
	}
	return s.emit(provider.Delta{})
}

// complete ends the answer.
func (s *stream) complete(ev event) error {
	for i, raw := range ev.Response.Output {
		if it := s.items[i]; it == nil || !it.done {
			if err := s.finish(i, raw); err != nil {
				return err
			}
		}
	}
	s.end = provider.Finished{Reason: provider.Stop, Model: ev.Response.Model, Usage: ev.Response.Usage.domain()}
	if ev.Type == "response.incomplete" {
		s.end.Reason = provider.Length
		if ev.Response.Incomplete.Reason == "content_filter" {
			s.end.Reason = provider.ContentFilter
		}
	}
	return io.EOF
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	if !s.Ended() {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.client.Name)
	}
	s.end.Verbatim = s.back.Verbatim(s.provider.issuer)
	return s.end, nil
}
