package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/rules"
	"github.com/windlass-dev/windlass/workflows/contract/stepkey"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
)

const routeInstructions = contract.MarkRoute + `
Decide which one of the agents below shall deal with the user's last message. Do not answer the message itself.
Answer with one JSON object and nothing else: {"agent": "the agent's name, or none when no agent fits", "reason": "one short sentence"}`

// noAgent is what a model says when no agent fits.
const noAgent = "none"

// Routes reports whether the step chooses an agent: the first model step of a routed turn does.
func Routes(w *step.Work) bool {
	return w.Strategy() == turnv1.Strategy_STRATEGY_ROUTE && w.Ref.GetKey() == stepkey.Infer(contract.RouteStep) &&
		len(w.Loaded.GetAgentTools()) > 0
}

// RouteQuestion turns the request of a model step into the question which agent fits.
func RouteQuestion(w *step.Work, req *inferencev1.GenerateRequest) *inferencev1.GenerateRequest {
	question := &inferencev1.GenerateRequest{
		Model: req.GetModel(), Instructions: routeInstructions + "\n" + agentList(w.Loaded.GetAgentTools()),
		Messages: conversation.Dialogue(req.GetMessages()), Temperature: req.Temperature, TurnId: req.GetTurnId(), Step: req.GetStep(),
	}
	if own := req.GetInstructions(); own != "" {
		question.Instructions += "\n\nThis is said of the task:\n" + own
	}
	return question
}

// Route is the model.Ask that asks which agent fits, and returns the answer as a call of that agent with the user's message. The reason
// becomes the message's reasoning. When none fits, the model answers as in react.
func (d Deps) Route(
	ctx context.Context, w *step.Work, req *inferencev1.GenerateRequest, add func(*inferencev1.GenerateResponse),
) (*inferencev1.Finished, error) {
	agents, question := w.Loaded.GetAgentTools(), RouteQuestion(w, req)
	var chosen *executionv1.AgentTool
	var reason string
	used, err := d.answerJSON(ctx, w, question, contract.RouteRepairs, func(text string) (err error) {
		chosen, reason, err = readRoute(text, agents)
		return err
	})
	message := conversation.Query(req.GetMessages(), w.Turn.TurnID)
	switch {
	case errors.Is(err, errUnreadable):
		reason = errUnreadable.Error() + "; its words fit best"
		if best := rules.Nearest(message, described(agents)); best >= 0 {
			chosen = agents[best]
		}
	case err != nil:
		return nil, err
	}
	if chosen == nil {
		finished, err := d.Ask(ctx, w, req, add)
		if err == nil {
			model.Add(used, finished)
			finished.Usage = used
		}
		return finished, err
	}
	arguments, err := json.Marshal(map[string]string{"message": message})
	if err != nil {
		return nil, fmt.Errorf("hand over to %s: %w", chosen.GetAgentId(), err)
	}
	return &inferencev1.Finished{
		FinishReason: model.FinishToolCalls, Usage: used, Model: w.Attempts.Answered(req.GetModel()),
		Reasoning: brief(chosen.GetAgentId()+": "+reason, maxReason),
		ToolCalls: []*turnv1.ToolCall{{Tool: chosen.GetName(), ArgumentsJson: string(arguments)}},
	}, nil
}

func agentList(agents []*executionv1.AgentTool) string {
	lines := []string{contract.AgentList}
	for _, a := range agents {
		lines = append(lines, contract.ToolPrefix+a.GetAgentId()+": "+brief(a.GetDescription(), maxDescription))
	}
	return strings.Join(lines, "\n")
}

// readRoute reads the model's answer, which must be exactly what it was asked for; a nil agent is none.
func readRoute(text string, agents []*executionv1.AgentTool) (*executionv1.AgentTool, string, error) {
	var answer struct {
		Agent  string `json:"agent"`
		Reason string `json:"reason"`
	}
	if err := strictJSON(text, &answer); err != nil {
		return nil, "", err
	}
	name := strings.TrimPrefix(answer.Agent, contract.AgentToolPrefix)
	reason := cite.Strip(answer.Reason)
	if name == noAgent {
		return nil, reason, nil
	}
	for _, a := range agents {
		if a.GetAgentId() == name {
			return a, reason, nil
		}
	}
	return nil, "", fmt.Errorf("there is no agent %q", brief(answer.Agent, 80))
}
