package shield

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

// Settles reports whether shields check the answers of the turn's agent, and if so, whether parts of answers can settle before their end.
func (c *Checker) Settles(ctx context.Context, loaded *step.Loaded) (checked, settles bool, _ error) {
	if len(loaded.GetAgent().GetShields()) == 0 {
		return false, false, nil
	}
	seen, err := c.loadStages(ctx, loaded.GetAgent())
	return slices.Contains(seen.stages, StageOutput), !slices.Contains(seen.held, StageOutput), err
}

// Settled returns the parts of the beginnings of an answer and of its reasoning that no continuation changes, as the shields leave them.
func (c *Checker) Settled(ctx context.Context, loaded *step.Loaded, text, reasoning string) (string, string, error) {
	resp, err := c.texts.CheckText(ctx, &policyv1.CheckTextRequest{
		Shields: loaded.GetAgent().GetShields(), Stage: StageOutput, Texts: []string{text, reasoning}, Partial: true,
	})
	if err != nil {
		return "", "", fmt.Errorf("ask shields: %w", err)
	}
	if len(resp.GetTexts()) != 2 || slices.Contains(resp.GetHeldStages(), StageOutput) {
		return "", "", errors.New("ask shields: nothing settles")
	}
	return resp.GetTexts()[0].GetText(), resp.GetTexts()[1].GetText(), nil
}

// Answer checks what the model said before it is committed, and changes the message: redacted, or withheld as a whole with its tool
// calls. An answer that was cut off and cannot be checked is withheld.
func (c *Checker) Answer(ctx context.Context, w *step.Work, m *turnv1.Message) (blocked bool, _ []*turnv1.Event, _ error) {
	if len(w.Loaded.GetAgent().GetShields()) == 0 {
		return false, nil, nil
	}
	late := ctx.Err() != nil
	if late {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lateCheck)
		defer cancel()
	}
	text, citations := conversation.Text(m), citationsOf(m)
	checked, err := c.Check(ctx, w.Loaded, StageOutput, append([]string{text, m.GetReasoning()}, quotesOf(citations)...)...)
	switch {
	case err != nil && late:
		m.Content, m.Reasoning, m.Verbatim = nil, "", nil
		return false, nil, nil
	case err != nil || checked == nil:
		return false, nil, err
	}
	answer, reasoning := checked[0], checked[1]
	if v := m.GetVerbatim(); v != nil && (answer.GetRedacted() || reasoning.GetRedacted() || reasoning.GetBlocked()) {
		m.Verbatim = &turnv1.Verbatim{Issuer: v.GetIssuer(), ReasoningFields: v.GetReasoningFields()} // the rest holds the text as it was
	}
	if answer.GetRedacted() {
		text = answer.GetText()
	}
	if reasoning.GetRedacted() {
		m.Reasoning = reasoning.GetText()
	}
	if reasoning.GetBlocked() {
		m.Reasoning = ""
	}
	if blocked = answer.GetBlocked(); blocked {
		text, m.Reasoning, m.ToolCalls, m.Verbatim = Withheld("answer", answer), "", nil, nil
		citations = nil
	}
	m.Content = nil
	if text != "" {
		citations = cite.Reposition(text, quoted(citations, checked[2:]))
		m.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}, Citations: citations}}
	}
	return blocked, Triggered(StageOutput, "", checked), nil
}

func citationsOf(m *turnv1.Message) (out []*turnv1.Citation) {
	for _, p := range m.GetContent() {
		out = append(out, p.GetCitations()...)
	}
	return out
}

func quotesOf(citations []*turnv1.Citation) (out []string) {
	for _, c := range citations {
		out = append(out, c.GetQuote())
	}
	return out
}

// quoted returns citations with their quotes as the shields leave them: a blocked one is empty.
func quoted(citations []*turnv1.Citation, checked []*policyv1.CheckedText) []*turnv1.Citation {
	out := make([]*turnv1.Citation, 0, len(citations))
	for i, c := range citations {
		c = proto.CloneOf(c)
		switch {
		case checked[i].GetBlocked():
			c.Quote = ""
		case checked[i].GetRedacted():
			c.Quote = checked[i].GetText()
		}
		out = append(out, c)
	}
	return out
}
