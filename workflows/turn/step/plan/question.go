// Package plan holds the decisions that a model makes before it acts: the strategy of a turn, its plan, and which agent deals with it.
// It also says what a plan means for the model steps that carry it out.
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/grpc"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/augment"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/pinned"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// journal is what is asked of the sessions service.
type journal interface {
	GetContext(context.Context, *executionv1.GetContextRequest, ...grpc.CallOption) (*step.History, error)
}

// Deps are what decisions are made with. All but Facts are required.
type Deps struct {
	Sessions journal
	Ask      model.Ask
	Pinned   *pinned.Cache
	Shields  *shield.Checker
	// Facts reads the passages that a turn has found; without it there are none.
	Facts augment.Reader
}

// GiveUp implements step.Action for both kinds of step.
func (Deps) GiveUp(why *turnv1.TurnError) *step.Commit { return model.GiveUp(why) }

// question is a model call about the turn's conversation. It names tools in words only: the model must not call one.
func (d Deps) question(
	ctx context.Context, w *step.Work, instructions string,
) (*inferencev1.GenerateRequest, []*inferencev1.ToolDefinition, error) {
	history, err := d.Sessions.GetContext(ctx, &executionv1.GetContextRequest{TurnId: w.Turn.TurnID})
	if err != nil {
		return nil, nil, fmt.Errorf("read context: %w", err)
	}
	messages, _, err := d.Shields.Conversation(ctx, w, history.GetMessages()) // the model step reports what is found
	if err != nil {
		return nil, nil, err
	}
	passages, err := augment.Read(ctx, w, d.Facts, d.Shields)
	if err != nil {
		return nil, nil, err
	}
	messages = passages.Into(messages, w.Turn.TurnID)
	tools, err := d.Pinned.Definitions(ctx, w.Loaded, history.GetMessages())
	if err != nil {
		return nil, nil, err
	}
	agent := w.Loaded.GetAgent()
	parts := []string{instructions, toolList(tools)}
	theirs, err := d.Pinned.Instructions(agent)
	if err != nil {
		return nil, nil, err
	}
	if theirs != "" {
		parts = append(parts, "The agent that will do the work has these instructions:\n"+theirs)
	}
	req := &inferencev1.GenerateRequest{
		Model: w.Loaded.GetSurface().GetModel(), Instructions: strings.Join(parts, "\n\n"), Messages: messages,
		Temperature: agent.Temperature, TurnId: w.Turn.TurnID, Step: w.Ref.GetKey(),
	}
	model.Bound(req, w.Lease)
	return req, tools, nil
}

// maxDescription bounds the description of one tool, in characters.
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

// answerJSON asks until check accepts the answer, again up to repairs times. If it accepts none the error is errUnreadable. The usage is
// that of all calls that were answered, also with an error.
func (d Deps) answerJSON(
	ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, repairs int, check func(text string) error,
) (*turnv1.Usage, error) {
	used := &turnv1.Usage{}
	for attempt := 0; ; attempt++ {
		finished, err := d.Ask(ctx, w, req, func(*inferencev1.GenerateResponse) {})
		if err != nil {
			return used, fmt.Errorf("ask model: %w", err)
		}
		model.Add(used, finished)
		wrong := check(finished.GetText())
		switch {
		case wrong == nil:
			return used, nil
		case attempt == repairs:
			return used, fmt.Errorf("%w: %w", errUnreadable, wrong)
		}
		req.Messages = model.Corrected(req.GetMessages(), finished.GetText(), "Your answer could not be read: "+wrong.Error()+
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

// ofTurn removes from a request the messages of other turns, and reports whether there were none.
func ofTurn(req *inferencev1.GenerateRequest, turnID string) bool {
	n := len(req.GetMessages())
	req.Messages = slices.DeleteFunc(slices.Clone(req.GetMessages()), func(m *turnv1.Message) bool {
		return m.GetTurnId() != turnID && m.GetTurnId() != ""
	})
	return len(req.GetMessages()) == n
}
