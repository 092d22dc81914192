package step

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
	"github.com/windlass-dev/windlass/workflows/contract/rules"
)

// choice asks the model which strategy fits the request. It is asked once: the outcome keeps what was chosen.
type choice struct{ *Runner }

const selectInstructions = contract.MarkSelect + `
Decide how an agent should deal with the user's last message. Do not answer the message itself. The strategies are:
- direct: it can be answered at once from general knowledge and the conversation, without any tool.
- react: it needs one or a few tool calls, each chosen after the result before it.
- plan: it has several parts that build on each other, or is complex enough that a plan should be made before anything is done.
Answer with one JSON object and nothing else: {"strategy": the strategy's name, "reason": "one short sentence"}`

const routeChoice = "- route: one of the agents below should deal with it alone."

// maxReason bounds the reason that the journal keeps, in characters.
const maxReason = 200

func (c choice) prepare(ctx context.Context, w *work) error { return preparation(c).prepare(ctx, w) }

func (c choice) giveUp(w *work, why *turnv1.TurnError) *sessionsv1.CommitStepRequest {
	return preparation(c).giveUp(w, why)
}

func (c choice) do(ctx context.Context, w *work) (*sessionsv1.CommitStepRequest, error) {
	if w.cancelled {
		return c.giveUp(w, nil), nil
	}
	p := preparation(c)
	agents := w.loaded.GetAgentTools()
	instructions := selectInstructions
	if len(agents) > 0 {
		instructions = strings.Replace(instructions, "\nAnswer with", "\n"+routeChoice+"\nAnswer with", 1) + "\n" + agentList(agents)
	}
	req, tools, err := p.question(ctx, w, instructions)
	if err != nil {
		return nil, err
	}
	text := query(req.GetMessages(), w.turn.TurnID)
	req.Messages = dialogue(req.GetMessages())
	var strategy turnv1.Strategy
	var reason string
	used, err := p.answerJSON(ctx, req, 0, func(text string) (err error) {
		strategy, reason, err = readChoice(text)
		return err
	})
	switch {
	case errors.Is(err, errUnreadable):
		strategy, reason = byRules(text, len(tools) > 0, agents)
		reason = errUnreadable.Error() + "; " + reason
	case tooLong(err): // the model step has it compacted
		strategy, reason = byRules(text, len(tools) > 0, agents)
		reason, used = "the conversation is too long for the model; "+reason, &turnv1.Usage{ModelCalls: 1}
	case err != nil:
		return nil, err
	case strategy == turnv1.Strategy_STRATEGY_ROUTE && len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_REACT, "the agent has no sub-agents to choose from"
	case strategy == turnv1.Strategy_STRATEGY_REACT && len(tools)+len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools to react with"
	}
	reason, found, err := c.shieldReason(ctx, w, reason)
	if err != nil {
		return nil, err
	}
	return &sessionsv1.CommitStepRequest{
		Outcome: &turnv1.StepOutcome{Strategy: strategy, Usage: used},
		Events:  append(found, strategySelected(strategy, brief(reason, maxReason))),
	}, nil
}

// shieldReason checks the reason that the model gives, which people read: it is redacted, or left out. The turn goes on either way.
func (c choice) shieldReason(ctx context.Context, w *work, reason string) (string, []*turnv1.Event, error) {
	checked, err := c.checkTexts(ctx, w.loaded.GetAgent(), stageOutput, reason)
	if err != nil || checked == nil {
		return reason, nil, err
	}
	switch {
	case checked[0].GetBlocked():
		reason = withheld("reason", checked...)
	case checked[0].GetRedacted():
		reason = checked[0].GetText()
	}
	return reason, triggered(stageOutput, "", checked), nil
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
	return strategy, answer.Reason, nil
}

// strategies are those that can be chosen, by the names that models know.
var strategies = map[string]turnv1.Strategy{
	rules.Direct: turnv1.Strategy_STRATEGY_DIRECT, rules.React: turnv1.Strategy_STRATEGY_REACT,
	rules.Plan: turnv1.Strategy_STRATEGY_PLAN, rules.Route: turnv1.Strategy_STRATEGY_ROUTE,
}

// byRules chooses when the model's answer cannot be read.
func byRules(request string, tools bool, agents []*sessionsv1.AgentTool) (turnv1.Strategy, string) {
	strategy, reason := rules.Choose(request, tools, described(agents))
	return strategies[strategy], reason
}

// described are sub-agents as the rules know them.
func described(agents []*sessionsv1.AgentTool) []rules.Agent {
	out := make([]rules.Agent, len(agents))
	for i, a := range agents {
		out[i] = rules.Agent{ID: a.GetAgentId(), Description: a.GetDescription()}
	}
	return out
}
