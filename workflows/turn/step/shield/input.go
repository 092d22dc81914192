package shield

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/mediatext"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// Input is the input of a turn as shields leave it.
type Input struct {
	// Text is what others than the turn's journal may get: redacted, and empty if it is blocked.
	Text string
	// Blocked inputs end their turn without the model being asked.
	Blocked bool
	// Events say which shields found something.
	Events []*turnv1.Event
}

// Input checks the input that a turn begins with.
func (c *Checker) Input(ctx context.Context, loaded *step.Loaded) (Input, error) {
	out := Input{Text: loaded.GetTurn().GetInput()}
	checked, err := c.Check(ctx, loaded, StageInput, out.Text)
	if err != nil || checked == nil {
		return out, err
	}
	if checked[0].GetRedacted() {
		out.Text = checked[0].GetText()
	}
	if out.Blocked = checked[0].GetBlocked() || Blocker(checked) != ""; out.Blocked {
		out.Text = ""
	}
	out.Events = Triggered(StageInput, "", checked)
	return out, nil
}

// Conversation returns the conversation as a model may read it: what users said is redacted, and withheld where it is blocked. The
// events are those of input that came while the turn runs and is read now for the first time; the begin step reports those of the turn's
// own input.
func (c *Checker) Conversation(ctx context.Context, w *step.Work, messages []*turnv1.Message) ([]*turnv1.Message, []*turnv1.Event, error) {
	messages, back, err := c.callbacks(ctx, w, messages)
	if err != nil {
		return messages, nil, err
	}
	applies, err := c.AppliesTo(ctx, w.Loaded.GetAgent(), StageInput)
	if err != nil || !applies {
		return messages, back, err
	}
	var texts []string
	for _, m := range messages {
		texts = append(texts, userTexts(m)...)
	}
	checked, err := c.Check(ctx, w.Loaded, StageInput, texts...)
	if err != nil || checked == nil {
		return messages, back, err
	}
	out := slices.Clone(messages)
	var fresh []*policyv1.CheckedText
	own := true
	for i, m := range messages {
		n := len(userTexts(m))
		if n > 0 {
			out[i] = redactedMessage(m, checked[:n])
		}
		switch {
		case m.GetTurnId() == w.Turn.TurnID && m.GetRole() == turnv1.Role_ROLE_USER && own:
			own = false
		case m.GetTurnId() == w.Turn.TurnID && m.GetRole() == turnv1.Role_ROLE_USER:
			fresh = append(fresh, checked[:n]...)
		case m.GetRole() == turnv1.Role_ROLE_ASSISTANT:
			fresh = nil
		}
		checked = checked[n:]
	}
	return out, append(back, Triggered(StageInput, "", fresh)...), nil
}

// callbacks checks the answers of sub-agents in the background as what they are, results of calls: else a model could get around the
// check by asking in the background. The events are those of what is read now for the first time.
func (c *Checker) callbacks(ctx context.Context, w *step.Work, messages []*turnv1.Message) ([]*turnv1.Message, []*turnv1.Event, error) {
	if len(w.Loaded.GetAgent().GetShields()) == 0 {
		return messages, nil, nil
	}
	var texts []string
	for _, m := range messages {
		if m.GetFromAgent() != "" {
			texts = append(texts, userTexts(m)...)
		}
	}
	if len(texts) == 0 {
		return messages, nil, nil
	}
	checked, err := c.Check(ctx, w.Loaded, StageResult, texts...)
	if err != nil || checked == nil {
		return messages, nil, err
	}
	out := slices.Clone(messages)
	var fresh []*policyv1.CheckedText
	for i, m := range messages {
		if m.GetRole() == turnv1.Role_ROLE_ASSISTANT {
			fresh = nil
		}
		if m.GetFromAgent() == "" {
			continue
		}
		n := len(userTexts(m))
		if n == 0 {
			continue
		}
		out[i] = redactedMessage(m, checked[:n])
		if m.GetTurnId() == w.Turn.TurnID {
			fresh = append(fresh, checked[:n]...)
		}
		checked = checked[n:]
	}
	return out, Triggered(StageResult, "", fresh), nil
}

// userTexts are the texts of a user's message.
func userTexts(m *turnv1.Message) []string {
	if m.GetRole() != turnv1.Role_ROLE_USER {
		return nil
	}
	var texts []string
	for _, p := range m.GetContent() {
		if text := partText(p); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// partText is what models read as text of a part: a text, or bytes that are text, as files are.
func partText(p *turnv1.ContentPart) string {
	if text, ok := mediatext.Of(p.GetBlob().GetMediaType(), p.GetBlob().GetData()); ok {
		return text
	}
	return p.GetText()
}

// redactedMessage returns a user's message with its texts as redacted by the shields.
func redactedMessage(m *turnv1.Message, checked []*policyv1.CheckedText) *turnv1.Message {
	if !slices.ContainsFunc(checked, func(c *policyv1.CheckedText) bool { return len(c.GetHits()) > 0 }) {
		return m
	}
	m = proto.CloneOf(m)
	for _, p := range m.GetContent() {
		if partText(p) == "" {
			continue
		}
		switch c := checked[0]; {
		case c.GetBlocked():
			p.Part = &turnv1.ContentPart_Text{Text: Withheld("message", c)}
		case c.GetRedacted():
			p.Part = &turnv1.ContentPart_Text{Text: c.GetText()}
		}
		checked = checked[1:]
	}
	return m
}
