package infer

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

// mayCite reports whether the model may write marks of passages: its agent has banks, or it reads what an agent with banks has retrieved.
func (i *infer) mayCite() bool { return len(i.Loaded.GetAgent().GetBanks()) > 0 || i.sources != nil }

// citing returns what passes on the pieces of an answer with numbers in the place of marks, and what passes on the rest of them at the end.
func (i *infer) citing(say func(chunk)) (piece func(chunk), end func()) {
	if !i.mayCite() {
		return say, func() {}
	}
	text, reasoning := i.sources.Writer(), &cite.Writer{}
	piece = func(c chunk) {
		switch c.what {
		case textChunk:
			c.text = text.Add(c.text)
		case reasoningChunk:
			c.text = reasoning.Add(c.text)
		}
		if c.text != "" || c.what == argumentsChunk {
			say(c)
		}
	}
	return piece, func() {
		for _, rest := range []chunk{{what: reasoningChunk, text: reasoning.Close()}, {what: textChunk, text: text.Close()}} {
			if rest.text != "" {
				say(rest)
			}
		}
	}
}

// cite replaces the marks in a message.
func (i *infer) cite(m *turnv1.Message) {
	if !i.mayCite() {
		return
	}
	m.Reasoning = cite.Strip(m.GetReasoning())
	text, citations := i.sources.Text(conversation.Text(m))
	if m.Content = nil; text != "" {
		m.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}, Citations: citations}}
	}
}
