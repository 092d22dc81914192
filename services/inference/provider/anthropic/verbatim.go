package anthropic

import (
	"encoding/json"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// part is a block of a message as the provider sent it: one that it wants back, a piece of the text, or a call.
type part struct {
	// Block is returned as it is.
	Block json.RawMessage `json:"block,omitempty"`
	// Text is the length of a piece of text in bytes.
	Text int `json:"text,omitempty"`
	// Call is a tool's call, the next one.
	Call bool `json:"call,omitempty"`
}

// returns gives back to the provider the blocks of a message with calls, in the order in which it sent them; nil if there are none for it.
func (c *call) returns(m *turnv1.Message, calls []any) []any {
	v := m.GetVerbatim()
	var parts []part
	if v.GetIssuer() != c.provider.issuer || c.manner.Plain || len(calls) == 0 || json.Unmarshal(v.GetOpaque(), &parts) != nil {
		return nil
	}
	text, whole := provider.Text(m.GetContent()), 0
	for _, p := range parts {
		whole += p.Text
	}
	c.returned = true
	var out, said []any
	add := func(text string) {
		said = append(said, content([]*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}})...)
	}
	if whole != len(text) { // it was changed since
		add(text)
		text = ""
	}
	for _, p := range parts {
		switch {
		case p.Block != nil:
			out = append(append(out, said...), p.Block)
			said = nil
		case p.Call && len(calls) > 0:
			out, calls, said = append(append(out, said...), calls[0]), calls[1:], nil
		case p.Text <= len(text):
			add(text[:p.Text])
			text = text[p.Text:]
		}
	}
	return append(append(out, said...), calls...)
}

// maxOpaque limits what is kept for the provider.
const maxOpaque = 1 << 20

// collector gathers the order of a message, and the blocks that the provider wants back.
type collector struct {
	parts []part
	open  map[int]*returned // by the stream's index
	some  bool
	size  int
}

// returned is a block being received.
type returned struct {
	fields map[string]json.RawMessage
	texts  map[string]provider.Fragment
	at     int
}

// begin takes the start of a block that is no text and no call.
func (k *collector) begin(index int, raw json.RawMessage) {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &fields) != nil {
		return
	}
	if k.open == nil {
		k.open = map[int]*returned{}
	}
	k.open[index] = &returned{fields: fields, texts: map[string]provider.Fragment{}, at: len(k.parts)}
	k.parts = append(k.parts, part{})
	k.size += len(raw)
}

// more takes a piece of a field.
func (k *collector) more(index int, field string, piece provider.Fragment) {
	if b := k.open[index]; b != nil && k.size <= maxOpaque {
		if _, ok := b.texts[field]; !ok {
			var start provider.Fragment
			_ = json.Unmarshal(b.fields[field], &start) // none
			b.texts[field] = start
		}
		b.texts[field] += piece
		k.size += len(piece)
	}
}

// end takes the end of a block.
func (k *collector) end(index int) {
	b := k.open[index]
	if b == nil {
		return
	}
	delete(k.open, index)
	for field, text := range b.texts {
		var h provider.Halves
		if raw, err := json.Marshal(h.Join(string(text)) + h.End()); err == nil {
			b.fields[field] = raw
		}
	}
	if raw, err := json.Marshal(b.fields); err == nil {
		k.parts[b.at].Block, k.some = raw, true
	}
}

func (k *collector) said(text string) {
	if n := len(k.parts) - 1; n >= 0 && k.parts[n].Text > 0 {
		k.parts[n].Text += len(text)
	} else if text != "" {
		k.parts = append(k.parts, part{Text: len(text)})
	}
}

func (k *collector) called() { k.parts = append(k.parts, part{Call: true}) }

// verbatim returns what was gathered, nil if there is nothing to return.
func (k *collector) verbatim(issuer string) *turnv1.Verbatim {
	for index := range k.open { // a server that does not end its blocks
		k.end(index)
	}
	raw, err := json.Marshal(k.parts)
	if !k.some || err != nil || k.size > maxOpaque {
		return nil
	}
	return &turnv1.Verbatim{Issuer: issuer, Opaque: raw}
}
