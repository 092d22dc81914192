package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/windlass-dev/windlass/libs/sse"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/wire"
)

// stream reads one answer.
type stream struct {
	provider *Provider
	names    *wire.Names
	model    string
	emit     func(provider.Delta) error

	end    provider.Ending
	done   bool // the server sent the end mark
	pieces int  // those with content
	usage  *provider.Usage
	name   string // the model that answered
	calls  []*slot
	begun  int // calls that were emitted
	back   collector
}

// slot is a tool call being received.
type slot struct {
	key     *int // the server's index
	id      string
	tool    string
	index   int    // ours, once emitted
	begun   bool   // its name is known and was emitted
	pending []byte // arguments that arrived before the name
}

// maxPending limits the argument bytes before the name of their call.
const maxPending = 1 << 20

// Ended implements provider.Reader.
func (s *stream) Ended() bool { return s.end.Certain() || s.done && s.pieces > 0 }

// Failure implements provider.Reader.
func (*stream) Failure(body []byte) (provider.Failure, bool) { return failureOf(body) }

// Event implements provider.Reader.
func (s *stream) Event(e sse.Event) error {
	data := bytes.TrimSpace(e.Data)
	switch {
	case len(data) == 0:
		return s.emit(provider.Delta{})
	case bytes.HasPrefix(data, []byte("[DONE]")):
		s.done = true
		return io.EOF
	}
	if f, ok := failureOf(data); ok {
		return s.provider.id.Fault(s.model, f)
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return s.provider.id.Malformed("chunk of a completion", data, err)
	}
	if c.Model != "" {
		s.name = c.Model
	}
	if u := c.Usage.domain(); u != nil {
		s.usage = u
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		if err := s.choice(ch); err != nil {
			return err
		}
	}
	return s.emit(provider.Delta{})
}

func (s *stream) choice(ch choice) error {
	pieces := []*delta{&ch.Delta}
	if ch.Message != nil && s.pieces == 0 { // else it repeats what came
		pieces = append(pieces, ch.Message)
	}
	before := s.pieces
	for _, d := range append(pieces, &delta{Content: ch.Text}) {
		if err := s.delta(d); err != nil {
			return err
		}
	}
	switch r := reason(ch.FinishReason); r {
	case "error":
		return s.provider.id.Fault(s.model, provider.Failure{Message: "it gave up in the middle of its answer"})
	default:
		s.end.Event(s.pieces > before, r)
	}
	return nil
}

// delta reads a piece of the message, or all of it.
func (s *stream) delta(d *delta) error {
	thoughts, fields := d.thoughts()
	s.back.message(d.others, fields)
	content, err := text(d.Content)
	if err != nil {
		return s.unread(err)
	}
	refusal, err := text(d.Refusal)
	if err != nil {
		return s.unread(err)
	}
	for _, piece := range []provider.Delta{{Reasoning: thoughts}, {Text: content}, {Text: refusal}} {
		if piece.Text == "" && piece.Reasoning == "" {
			continue
		}
		s.pieces++
		if err := s.emit(piece); err != nil {
			return err
		}
	}
	if d.FunctionCall != nil && len(d.ToolCalls) == 0 {
		var only int // there is one such call
		if err := s.call(toolCall{Index: &only, Function: *d.FunctionCall}); err != nil {
			return err
		}
	}
	for _, tc := range d.ToolCalls {
		if err := s.call(tc); err != nil {
			return err
		}
	}
	return nil
}

// unread is the error of a part of the answer that would be missing.
func (s *stream) unread(err error) error {
	return provider.Broken("the answer of %s has a part that cannot be read: %v", s.provider.id.Name, err)
}

// call adds to a tool call and emits it as soon as its name is known.
func (s *stream) call(tc toolCall) error {
	c := s.slot(tc)
	if c == nil {
		return provider.Excessive("%s asked for more than %d tool calls at once", s.provider.id.Name, provider.MaxCalls)
	}
	if c.id == "" {
		c.id = tc.ID
	}
	if c.tool == "" {
		c.tool = tc.Function.Name
	}
	c.pending = append(c.pending, tc.Function.arguments()...)
	s.back.call(slices.Index(s.calls, c), tc.others)
	if c.tool == "" {
		if len(c.pending) > maxPending {
			return provider.Excessive("%s asked for a tool without naming it", s.provider.id.Name)
		}
		return nil
	}
	d := &provider.CallDelta{Index: c.index, Arguments: string(c.pending)}
	if !c.begun {
		c.begun, c.index = true, s.begun
		d.Index, d.ID, d.Tool = c.index, c.id, s.names.Own(c.tool)
		s.begun++
	} else if len(c.pending) == 0 {
		return nil
	}
	c.pending = nil
	s.pieces++
	return s.emit(provider.Delta{Call: d})
}

// slot returns the call that a piece belongs to. The index decides, unless a new id and name use the index of another call (some servers
// number all calls 0). Without an index the id decides, then the name: a named piece is a new call. It returns nil if there are too many
// calls.
func (s *stream) slot(tc toolCall) *slot {
	var found *slot
	for _, c := range s.calls {
		switch {
		case tc.Index != nil && c.key != nil && *c.key == *tc.Index:
			found = c
		case tc.Index == nil && tc.ID != "" && c.id == tc.ID:
			found = c
		}
	}
	other := found != nil && tc.ID != "" && tc.Function.Name != "" && found.id != "" && found.id != tc.ID
	if found != nil && !other {
		return found
	}
	if last := len(s.calls) - 1; last >= 0 && tc.Index == nil && tc.ID == "" && tc.Function.Name == "" {
		return s.calls[last]
	}
	if len(s.calls) == provider.MaxCalls {
		return nil
	}
	c := &slot{key: tc.Index}
	s.calls = append(s.calls, c)
	return c
}

// Finish implements provider.Reader. A stream that stopped early is an error.
func (s *stream) Finish() (provider.Finished, error) {
	for _, c := range s.calls {
		if !c.begun {
			return provider.Finished{}, provider.Broken("%s asked for a tool without naming it", s.provider.id.Name)
		}
	}
	reason := s.end.Reason()
	if reason == "" && !s.Ended() {
		return provider.Finished{}, provider.Broken("the answer of %s stopped before its end", s.provider.id.Name)
	}
	if reason == "" {
		reason = provider.Stop
	}
	return provider.Finished{Reason: reason, Model: s.name, Usage: s.usage, Verbatim: s.back.verbatim(s.provider.issuer)}, nil
}
