package step

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TextChecker is what steps need of policy.
type TextChecker interface {
	CheckText(context.Context, *policyv1.CheckTextRequest, ...grpc.CallOption) (*policyv1.CheckTextResponse, error)
}

// Stages of shields.
const (
	stageInput  = "input"
	stageTool   = "tool"
	stageResult = "result"
	stageOutput = "output"
)

const (
	// stagesAge is how long a worker believes that shields look at the stages they looked at.
	stagesAge = 10 * time.Second
	// lateCheck bounds the check of a text that was cut off by the end of its turn.
	lateCheck = 5 * time.Second
	// textsAtOnce bounds the texts of one question to shields.
	textsAtOnce = 5000
	// codeShield is the code of a tool call that a shield blocks, or whose result it does.
	codeShield = "shield_blocked"
	// finishFiltered is the finish reason of what a shield blocks.
	finishFiltered = "content_filter"
)

// stagesSeen are the stages that a set of shields looks at.
type stagesSeen struct {
	stages []string
	at     time.Time
}

// looks tells whether one of the agent's shields looks at a stage. Without shields it costs nothing.
func (r *Runner) looks(ctx context.Context, a *sessionsv1.Agent, stage string) (bool, error) {
	if len(a.GetShields()) == 0 {
		return false, nil
	}
	key := strings.Join(a.GetShields(), "\x00")
	if seen, ok := r.cache.stages.Get(key); ok && time.Since(seen.at) < stagesAge {
		return slices.Contains(seen.stages, stage), nil
	}
	resp, err := r.deps.Shields.CheckText(ctx, &policyv1.CheckTextRequest{Shields: a.GetShields(), Stage: stage})
	if err != nil {
		return false, fmt.Errorf("ask shields: %w", err)
	}
	r.cache.stages.Add(key, stagesSeen{resp.GetStages(), time.Now()})
	return slices.Contains(resp.GetStages(), stage), nil
}

// checkTexts asks the agent's shields about texts, one answer for each; nil when none looks there.
func (r *Runner) checkTexts(ctx context.Context, a *sessionsv1.Agent, stage string, texts ...string) ([]*policyv1.CheckedText, error) {
	looks, err := r.looks(ctx, a, stage)
	if err != nil || !looks || len(texts) == 0 {
		return nil, err
	}
	checked := make([]*policyv1.CheckedText, 0, len(texts))
	for part := range slices.Chunk(texts, textsAtOnce) {
		resp, err := r.deps.Shields.CheckText(ctx, &policyv1.CheckTextRequest{Shields: a.GetShields(), Stage: stage, Texts: part})
		if err != nil {
			return nil, fmt.Errorf("ask shields: %w", err)
		}
		if len(resp.GetTexts()) != len(part) {
			return nil, fmt.Errorf("ask shields: %d answers about %d texts", len(resp.GetTexts()), len(part))
		}
		checked = append(checked, resp.GetTexts()...)
	}
	return checked, nil
}

// triggered tells of the shields that found something in any of the texts, each once.
func triggered(stage, callID string, checked []*policyv1.CheckedText) []*turnv1.Event {
	var out []*turnv1.Event
	at := map[string]*turnv1.ShieldTriggered{}
	for _, c := range checked {
		for _, h := range c.GetHits() {
			e := at[h.GetShield()]
			if e == nil {
				e = &turnv1.ShieldTriggered{Shield: h.GetShield(), Stage: stage, Action: h.GetAction(), CallId: callID}
				at[h.GetShield()] = e
				out = append(out, &turnv1.Event{Data: &turnv1.Event_ShieldTriggered{ShieldTriggered: e}})
			}
			e.Categories = append(e.Categories, h.GetCategories()...)
			slices.Sort(e.Categories)
			e.Categories = slices.Compact(e.Categories)
		}
	}
	return out
}

// blocker names the shields that block one of the texts, "" when none does.
func blocker(checked []*policyv1.CheckedText) string {
	var names []string
	for _, c := range checked {
		for _, h := range c.GetHits() {
			if name := fmt.Sprintf("%q", h.GetShield()); h.GetAction() == "block" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return strings.Join(names, ", ")
}

func withheld(what string, checked ...*policyv1.CheckedText) string {
	return "[" + what + " withheld by shield " + blocker(checked) + "]"
}

// shieldBegin checks what the user said. A turn whose input is blocked ends without the model being asked.
func (b begin) shieldBegin(ctx context.Context, loaded *sessionsv1.LoadTurnResponse) (blocked bool, _ []*turnv1.Event, _ error) {
	checked, err := b.checkTexts(ctx, loaded.GetAgent(), stageInput, loaded.GetTurn().GetInput())
	if err != nil {
		return false, nil, err
	}
	return blocker(checked) != "", triggered(stageInput, "", checked), nil
}

// shieldConversation gives the conversation as the model may see it: what users said is redacted, and withheld where it is blocked. The events tell
// of input that came while the turn runs and is read now for the first time; of the turn's own the begin step told.
func (r *Runner) shieldConversation(ctx context.Context, w *work, messages []*turnv1.Message) ([]*turnv1.Message, []*turnv1.Event, error) {
	messages, back, err := r.shieldCallbacks(ctx, w, messages)
	if err != nil {
		return messages, nil, err
	}
	looks, err := r.looks(ctx, w.loaded.GetAgent(), stageInput)
	if err != nil || !looks {
		return messages, back, err
	}
	var texts []string
	for _, m := range messages {
		texts = append(texts, userTexts(m)...)
	}
	checked, err := r.checkTexts(ctx, w.loaded.GetAgent(), stageInput, texts...)
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
		case m.GetTurnId() == w.turn.TurnID && m.GetRole() == turnv1.Role_ROLE_USER && own:
			own = false
		case m.GetTurnId() == w.turn.TurnID && m.GetRole() == turnv1.Role_ROLE_USER:
			fresh = append(fresh, checked[:n]...)
		case m.GetRole() == turnv1.Role_ROLE_ASSISTANT:
			fresh = nil
		}
		checked = checked[n:]
	}
	return out, append(back, triggered(stageInput, "", fresh)...), nil
}

// userTexts are the texts of a user's message.
func userTexts(m *turnv1.Message) []string {
	if m.GetRole() != turnv1.Role_ROLE_USER {
		return nil
	}
	var texts []string
	for _, p := range m.GetContent() {
		if p.GetText() != "" {
			texts = append(texts, p.GetText())
		}
	}
	return texts
}

// redactedMessage gives a user's message with its texts as the shields leave them.
func redactedMessage(m *turnv1.Message, checked []*policyv1.CheckedText) *turnv1.Message {
	if !slices.ContainsFunc(checked, func(c *policyv1.CheckedText) bool { return len(c.GetHits()) > 0 }) {
		return m
	}
	m = proto.CloneOf(m)
	for _, p := range m.GetContent() {
		if p.GetText() == "" {
			continue
		}
		switch c := checked[0]; {
		case c.GetBlocked():
			p.Part = &turnv1.ContentPart_Text{Text: withheld("message", c)}
		case c.GetRedacted():
			p.Part = &turnv1.ContentPart_Text{Text: c.GetText()}
		}
		checked = checked[1:]
	}
	return m
}

// shieldAnswer checks what the model said before it is written, and changes the message: redacted, or withheld as a whole with its tool calls. A
// check that cannot be made for an answer that was cut off withholds it.
func (r *Runner) shieldAnswer(ctx context.Context, w *work, m *turnv1.Message) (blocked bool, _ []*turnv1.Event, _ error) {
	if len(w.loaded.GetAgent().GetShields()) == 0 {
		return false, nil, nil
	}
	late := ctx.Err() != nil
	if late {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), lateCheck)
		defer cancel()
	}
	text := messageText(m)
	checked, err := r.checkTexts(ctx, w.loaded.GetAgent(), stageOutput, text, m.GetReasoning())
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
		text, m.Reasoning, m.ToolCalls = withheld("answer", answer), "", nil
	}
	m.Content = nil
	if text != "" {
		m.Content = []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}}
	}
	return blocked, triggered(stageOutput, "", checked), nil
}

// shieldGoals checks a plan before it is written, as what the model says. A blocked part of it is withheld.
func (r *Runner) shieldGoals(ctx context.Context, w *work, goals []goal) ([]*turnv1.Event, error) {
	var texts []string
	for _, g := range goals {
		texts = append(texts, g.Title, g.Goal)
	}
	checked, err := r.checkTexts(ctx, w.loaded.GetAgent(), stageOutput, texts...)
	if err != nil || checked == nil {
		return nil, err
	}
	for i, c := range checked {
		text := texts[i]
		switch {
		case c.GetBlocked():
			text = withheld("part of the plan", c)
		case c.GetRedacted():
			text = c.GetText()
		}
		if i%2 == 0 {
			goals[i/2].Title = text
		} else {
			goals[i/2].Goal = text
		}
	}
	return triggered(stageOutput, "", checked), nil
}
