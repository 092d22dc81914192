package step

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// preparation is what steps share that ask the model for a decision, not for an answer to show: nothing is streamed, and the model
// must answer JSON.
type preparation struct{ *Runner }

func (p preparation) prepare(ctx context.Context, w *work) (err error) {
	w.loaded, err = p.load(ctx, w.turn.TurnID)
	return err
}

func (preparation) giveUp(_ *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	if why == nil { // cancelled
		return &sessionsv1.CommitStepRequest{}
	}
	return &sessionsv1.CommitStepRequest{Outcome: &turnv1.StepOutcome{Error: why, Usage: &turnv1.Usage{ModelCalls: 1}}}
}

// question is a model call about the turn's conversation. The model is told of tools in words only: it must not call one.
func (p preparation) question(ctx context.Context, w *work, instructions string) (*inferencev1.GenerateRequest, []*inferencev1.ToolDefinition, error) {
	history, err := p.deps.Sessions.GetContext(ctx, &sessionsv1.GetContextRequest{TurnId: w.turn.TurnID})
	if err != nil {
		return nil, nil, fmt.Errorf("read context: %w", err)
	}
	messages, _, err := p.shieldConversation(ctx, w, history.GetMessages()) // the model step tells of what is found
	if err != nil {
		return nil, nil, err
	}
	tools, err := p.shown(ctx, w.loaded, history.GetMessages())
	if err != nil {
		return nil, nil, err
	}
	agent := w.loaded.GetAgent()
	parts := []string{instructions, toolList(tools)}
	theirs, err := p.instructions(agent)
	if err != nil {
		return nil, nil, err
	}
	if theirs != "" {
		parts = append(parts, "The agent that will do the work has these instructions:\n"+theirs)
	}
	req := &inferencev1.GenerateRequest{
		Model: w.loaded.GetSurface().GetModel(), Instructions: strings.Join(parts, "\n\n"), Messages: messages,
		Temperature: agent.Temperature, TurnId: w.turn.TurnID, Step: w.ref.GetKey(),
	}
	w.bound(req)
	return req, tools, nil
}

// maxDescription bounds what is told of one tool, in characters.
const maxDescription = 200

func toolList(tools []*inferencev1.ToolDefinition) string {
	if len(tools) == 0 {
		return contract.NoTools
	}
	lines := []string{"The agent has these tools:"}
	for _, t := range tools {
		lines = append(lines, "- "+t.GetName()+": "+brief(t.GetDescription(), maxDescription))
	}
	return strings.Join(lines, "\n")
}

// brief puts a text on one line and cuts it.
func brief(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if chars := []rune(text); len(chars) > limit {
		return string(chars[:limit-1]) + "…"
	}
	return text
}

// answerJSON asks, and reads the answer into the value; after an answer that check refuses it asks again, up to repairs times. The
// error of an answer that could not be read in the end is errUnreadable; usage counts all calls that were answered, also with an error.
func (p preparation) answerJSON(
	ctx context.Context, req *inferencev1.GenerateRequest, repairs int, check func(text string) error,
) (*turnv1.Usage, error) {
	used := &turnv1.Usage{}
	for attempt := 0; ; attempt++ {
		finished, err := p.stream(ctx, req, func(*inferencev1.GenerateResponse) {})
		if err != nil {
			return used, fmt.Errorf("ask model: %w", err)
		}
		addUsage(used, finished)
		wrong := check(finished.GetText())
		switch {
		case wrong == nil:
			return used, nil
		case attempt == repairs:
			return used, fmt.Errorf("%w: %w", errUnreadable, wrong)
		}
		req.Messages = repaired(req.GetMessages(), finished.GetText(), "Your answer could not be read: "+wrong.Error()+
			". Answer with the JSON object alone, in exactly the form that was asked for.")
	}
}

var errUnreadable = errors.New("the model's answer could not be read")

// strictJSON reads a text that is one JSON object with known fields, at most with a fence around it.
func strictJSON(text string, into any) error {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, "```"); ok {
		if _, rest, more := strings.Cut(inner, "\n"); more {
			text = strings.TrimSuffix(strings.TrimSpace(rest), "```")
		}
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("it is not the JSON that was asked for (%w)", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something behind the JSON object")
	}
	return nil
}

// dialogue leaves of a conversation what was said, without tool calls and their results.
func dialogue(messages []*turnv1.Message) []*turnv1.Message {
	out := make([]*turnv1.Message, 0, len(messages))
	for _, m := range messages {
		switch {
		case m.GetRole() == turnv1.Role_ROLE_TOOL, len(m.GetContent()) == 0:
		case len(m.GetToolCalls()) > 0:
			out = append(out, &turnv1.Message{Role: m.GetRole(), TurnId: m.GetTurnId(), Content: m.GetContent()})
		default:
			out = append(out, m)
		}
	}
	return out
}

// asked is the conversation up to the request of a turn, without what the turn has done so far.
func asked(messages []*turnv1.Message, turnID string) []*turnv1.Message {
	var out []*turnv1.Message
	for _, m := range messages {
		if m.GetTurnId() != turnID || m.GetRole() == turnv1.Role_ROLE_USER {
			out = append(out, m)
		}
	}
	return out
}

// query is the text of a turn's request.
func query(messages []*turnv1.Message, turnID string) string {
	var texts []string
	for _, m := range messages {
		if m.GetTurnId() == turnID && m.GetRole() == turnv1.Role_ROLE_USER {
			texts = append(texts, messageText(m))
		}
	}
	return strings.Join(texts, "\n")
}

func messageText(m *turnv1.Message) string {
	var texts []string
	for _, part := range m.GetContent() {
		if part.GetText() != "" {
			texts = append(texts, part.GetText())
		}
	}
	return strings.Join(texts, "\n")
}
