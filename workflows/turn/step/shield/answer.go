package shield

import (
	"context"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
)

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
	text := conversation.Text(m)
	checked, err := c.Check(ctx, w.Loaded, StageOutput, text, m.GetReasoning())
	switch {
	case err != nil && late:
		m.Content, m.Reasoning = nil, ""
		return false, nil, nil
	case err != nil || checked == nil:
		return false, nil, err
	}
	answer, reasoning := checked[0], checked[1]
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
		text, m.Reasoning, m.ToolCalls = Withheld("answer", answer), "", nil
	}
	m.Content = nil
	if text != "" {
		m.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
	}
	return blocked, Triggered(StageOutput, "", checked), nil
}
