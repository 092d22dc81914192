package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"

	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/rules"
	"github.com/windlass-dev/windlass/workflows/turn/step"
	"github.com/windlass-dev/windlass/workflows/turn/step/cite"
	"github.com/windlass-dev/windlass/workflows/turn/step/conversation"
	"github.com/windlass-dev/windlass/workflows/turn/step/model"
	"github.com/windlass-dev/windlass/workflows/turn/step/shield"
)

// Choice asks the model which strategy fits the request. It is asked once: the outcome keeps the answer.
type Choice struct{ Deps }

const selectInstructions = contract.MarkSelect + `
Decide how an agent should deal with the user's last message. Do not answer the message itself. The strategies are:
- direct: it can be answered at once from general knowledge and the conversation, without any tool.
- react: it needs one or a few tool calls, each chosen after the result before it.
- plan: it has several parts that build on each other, or is complex enough that a plan should be made before anything is done.
Answer with one JSON object and nothing else: {"strategy": the strategy's name, "reason": "one short sentence"}`

const routeChoice = "- route: one of the agents below should deal with it alone."

// maxReason bounds the reason that the journal keeps, in characters.
const maxReason = 200

// Prepare implements step.Kind.
func (c Choice) Prepare(ctx context.Context, w *step.Work) (_ step.Action, err error) {
	w.Loaded, err = c.Pinned.Turn(ctx, w.Turn.TurnID)
	return choosing{c.Deps, w}, err
}

// choosing is one select step.
type choosing struct {
	Deps
	w *step.Work
}

// Do implements step.Action.
func (c choosing) Do(ctx context.Context) (*step.Commit, error) {
	w := c.w
	if w.Cancelled {
		return c.GiveUp(nil), nil
	}
	agents := w.Loaded.GetAgentTools()
	instructions := selectInstructions
	if len(agents) > 0 {
		instructions = strings.Replace(instructions, "\nAnswer with", "\n"+routeChoice+"\nAnswer with", 1) + "\n" + agentList(agents)
	}
	req, tools, err := c.question(ctx, w, instructions)
	if err != nil {
		return nil, err
	}
	text := conversation.Query(req.GetMessages(), w.Turn.TurnID)
	req.Messages = conversation.Dialogue(req.GetMessages())
	var strategy turnv1.Strategy
	var reason string
	used, err := c.answerJSON(ctx, w, req, 0, func(text string) (err error) {
		strategy, reason, err = readChoice(text)
		return err
	})
	switch {
	case errors.Is(err, errUnreadable):
		strategy, reason = byRules(text, len(tools) > 0, agents)
		reason = errUnreadable.Error() + "; " + reason
	case model.TooLong(err): // the model step has it compacted
		strategy, reason = byRules(text, len(tools) > 0, agents)
		reason, used = "the conversation is too long for the model; "+reason, &turnv1.Usage{ModelCalls: 1}
	case err != nil:
		return nil, err
	case strategy == turnv1.Strategy_STRATEGY_ROUTE && len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_REACT, "the agent has no sub-agents to choose from"
	case strategy == turnv1.Strategy_STRATEGY_REACT && len(tools)+len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools to react with"
	}
	reason, found, err := c.checkReason(ctx, reason)
	if err != nil {
		return nil, err
	}
	return &step.Commit{
		Outcome: &turnv1.StepOutcome{Strategy: strategy, Usage: used},
		Events:  append(found, step.StrategySelected(strategy, brief(reason, maxReason))),
	}, nil
}

// checkReason checks the reason that the model gives, which people read: it is redacted, or left out. The turn continues either way.
func (c choosing) checkReason(ctx context.Context, reason string) (string, []*turnv1.Event, error) {
	checked, err := c.Shields.Check(ctx, c.w.Loaded, shield.StageOutput, reason)
	if err != nil || checked == nil {
		return reason, nil, err
	}
	switch {
	case checked[0].GetBlocked():
		reason = shield.Withheld("reason", checked...)
	case checked[0].GetRedacted():
		reason = checked[0].GetText()
	}
	return reason, shield.Triggered(shield.StageOutput, "", checked), nil
}

// readChoice reads the model's answer, which must be exactly what it was asked for.
func readChoice(text string) (turnv1.Strategy, string, error) {
	var answer struct {
		Strategy string `json:"strategy"`
		Reason   string `json:"reason"`
	}
	if err := strictJSON(text, &answer); err != nil {
		return 0, "", err
	}
	strategy, ok := strategies[answer.Strategy]
	if !ok {
		return 0, "", fmt.Errorf("there is no strategy %q", answer.Strategy)
	}
	return strategy, cite.Strip(answer.Reason), nil
}

// strategies are those that can be chosen, by the names that models know.
var strategies = map[string]turnv1.Strategy{
	rules.Direct: turnv1.Strategy_STRATEGY_DIRECT, rules.React: turnv1.Strategy_STRATEGY_REACT,
	rules.Plan: turnv1.Strategy_STRATEGY_PLAN, rules.Route: turnv1.Strategy_STRATEGY_ROUTE,
}

// byRules chooses if the model's answer cannot be read.
func byRules(request string, tools bool, agents []*executionv1.AgentTool) (turnv1.Strategy, string) {
	strategy, reason := rules.Choose(request, tools, described(agents))
	return strategies[strategy], reason
}

// described are sub-agents as the rules know them.
func described(agents []*executionv1.AgentTool) []rules.Agent {
	out := make([]rules.Agent, len(agents))
	for i, a := range agents {
		out[i] = rules.Agent{ID: a.GetAgentId(), Description: a.GetDescription()}
	}
	return out
}
