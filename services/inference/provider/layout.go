package provider

import (
	"bytes"
	"encoding/json"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Part is a piece of a message as its provider sent it: one that it wants back, a piece of the text, or a call.
type Part struct {
	// Block is returned as it is.
	Block json.RawMessage `json:"block,omitempty"`
	// Text is the length of a piece of text in bytes.
	Text int `json:"text,omitempty"`
	// Call is a tool's call, the next one.
	Call bool `json:"call,omitempty"`
	// With holds what came with a piece of text or a call.
	With json.RawMessage `json:"with,omitempty"`
}

// Step is a part with its content: a block, a call, or a text, which may be empty.
type Step struct {
	// Block is returned as it is.
	Block json.RawMessage
	// Call is a tool's call.
	Call *turnv1.ToolCall
	// Text is a piece of text.
	Text string
	// With holds what came with the text or the call; nil for nothing.
	With json.RawMessage
}

// Steps returns a message in the order in which the provider sent it; nil unless it was sent by the issuer, in parts.
func Steps(m *turnv1.Message, issuer string) []Step {
	v := m.GetVerbatim()
	var parts []Part
	if v.GetIssuer() != issuer || json.Unmarshal(v.GetOpaque(), &parts) != nil {
		return nil
	}
	text, calls, whole := Text(m.GetContent()), m.GetToolCalls(), 0
	for _, p := range parts {
		if p.Text < 0 { // not written by a Layout
			return nil
		}
		whole += p.Text
	}
	changed := whole != len(text) // since it was sent
	var out []Step
	if whole == 0 && changed {
		out = append(out, Step{Text: text})
	}
	for _, p := range parts {
		switch {
		case p.Block != nil:
			out = append(out, Step{Block: p.Block})
		case p.Call:
			if len(calls) > 0 {
				out, calls = append(out, Step{Call: calls[0], With: p.With}), calls[1:]
			}
		case !changed:
			out, text = append(out, Step{Text: text[:p.Text], With: p.With}), text[p.Text:]
		case p.Text > 0: // all of it in the place of the first piece
			out, text = append(out, Step{Text: text}), ""
		}
	}
	for _, c := range calls {
		out = append(out, Step{Call: c})
	}
	return out
}

// maxOpaque limits what is kept for a provider.
const maxOpaque = 1 << 20

// Layout collects the order of a message, and what the provider wants back. The zero value is empty.
type Layout struct {
	parts []Part
	open  map[int]*openBlock // by the stream's index
	some  bool
	size  int
}

// openBlock is a block being received.
type openBlock struct {
	fields map[string]json.RawMessage
	texts  map[string]Fragment
	at     int
}

// Block adds a whole block.
func (l *Layout) Block(raw json.RawMessage) {
	if l.size += len(raw); l.size <= maxOpaque {
		l.parts, l.some = append(l.parts, Part{Block: raw}), true
	}
}

// Begin adds the start of a block, an object. More and End continue the block with the same index.
func (l *Layout) Begin(index int, raw json.RawMessage) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	if l.open == nil {
		l.open = map[int]*openBlock{}
	}
	l.open[index] = &openBlock{fields: fields, texts: map[string]Fragment{}, at: len(l.parts)}
	l.parts = append(l.parts, Part{})
	l.size += len(raw)
}

// Begun reports whether a block began that has not ended.
func (l *Layout) Begun(index int) bool { return l.open[index] != nil }

// More adds a piece of a field of a block.
func (l *Layout) More(index int, field string, piece Fragment) {
	if b := l.open[index]; b != nil && l.size <= maxOpaque {
		if _, ok := b.texts[field]; !ok {
			var start Fragment
			_ = json.Unmarshal(b.fields[field], &start) // none
			b.texts[field] = start
		}
		b.texts[field] += piece
		l.size += len(piece)
	}
}

// End completes a block.
func (l *Layout) End(index int) {
	b := l.open[index]
	if b == nil {
		return
	}
	delete(l.open, index)
	for field, text := range b.texts {
		var h Halves
		if raw, err := json.Marshal(h.Join(string(text)) + h.End()); err == nil {
			b.fields[field] = raw
		}
	}
	if raw, err := json.Marshal(b.fields); err == nil {
		l.parts[b.at].Block, l.some = raw, true
	}
}

// Text adds a piece of text, and what came with it; pieces with the same are joined.
func (l *Layout) Text(text string, with json.RawMessage) {
	switch n := len(l.parts) - 1; {
	case n >= 0 && l.parts[n].Text > 0 && bytes.Equal(l.parts[n].With, with):
		l.parts[n].Text += len(text)
	case text != "" || with != nil:
		l.with(Part{Text: len(text), With: with})
	}
}

// Call adds a call, and what came with it.
func (l *Layout) Call(with json.RawMessage) { l.with(Part{Call: true, With: with}) }

func (l *Layout) with(p Part) {
	l.parts, l.some = append(l.parts, p), l.some || p.With != nil
	l.size += len(p.With)
}

// Verbatim returns what was collected; nil if there is nothing to return.
func (l *Layout) Verbatim(issuer string) *turnv1.Verbatim {
	for index := range l.open { // a server that does not end its blocks
		l.End(index)
	}
	raw, err := json.Marshal(l.parts)
	if !l.some || err != nil || l.size > maxOpaque {
		return nil
	}
	return &turnv1.Verbatim{Issuer: issuer, Opaque: raw}
}
