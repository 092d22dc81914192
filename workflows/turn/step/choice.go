package step

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
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
		strategy, reason = fallback(text, len(tools), agents)
		reason = errUnreadable.Error() + "; " + reason
	case err != nil:
		return nil, err
	case strategy == turnv1.Strategy_STRATEGY_ROUTE && len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_REACT, "the agent has no sub-agents to choose from"
	case strategy == turnv1.Strategy_STRATEGY_REACT && len(tools)+len(agents) == 0:
		strategy, reason = turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools to react with"
	}
	return &sessionsv1.CommitStepRequest{
		Outcome: &turnv1.StepOutcome{Strategy: strategy, Usage: used},
		Events:  []*turnv1.Event{strategySelected(strategy, brief(reason, maxReason))},
	}, nil
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
	switch answer.Strategy {
	case "direct":
		return turnv1.Strategy_STRATEGY_DIRECT, answer.Reason, nil
	case "react":
		return turnv1.Strategy_STRATEGY_REACT, answer.Reason, nil
	case "plan":
		return turnv1.Strategy_STRATEGY_PLAN, answer.Reason, nil
	case "route":
		return turnv1.Strategy_STRATEGY_ROUTE, answer.Reason, nil
	default:
		return 0, "", fmt.Errorf("there is no strategy %q", answer.Strategy)
	}
}

var (
	inOrder   = regexp.MustCompile(`(?is)\bfirst(ly)?\b.*\b(then|second(ly)?|after that|next|finally)\b|\bstep by step\b|\bthen\b.*\b(then|finally)\b`)
	numbered  = regexp.MustCompile(`(?m)^\s*(?:\d+[.)]|[-*•])\s+\S`)
	inOneLine = regexp.MustCompile(`\b1[.)]\s.*\b2[.)]\s`)
	needsPlan = regexp.MustCompile(`(?i)\b(plan|migrate|migration|roadmap|strateg(y|ies)|optimal|optimi[sz]e|optimi[sz]ation)\b`)
	aboutWhat = regexp.MustCompile(`(?i)^\s*(what('s|’s| is| are)( an?\b| the (best practices?|differences?|meaning|purpose)\b)|(explain|define)\s+(what )?(an?|the)\s)`)
	here      = regexp.MustCompile(`(?i)\b(my|our|we|this|these|now|today|current|currently|latest|last)\b|\d`)
)

// several marks a request that one agent alone will hardly settle: it has parts, or asks for a judgement.
var several = regexp.MustCompile(`(?i)\b(and|or|then|if|should|whether|based on|depending|that have|which ones?|compare|why)\b`)

// fallback chooses by rules, when the model's answer cannot be read. In doubt it is react: that can still answer at once, or call an agent.
func fallback(request string, tools int, agents []*sessionsv1.AgentTool) (turnv1.Strategy, string) {
	switch {
	case tools+len(agents) == 0:
		return turnv1.Strategy_STRATEGY_DIRECT, "the agent has no tools"
	case inOrder.MatchString(request), len(numbered.FindAllString(request, 2)) == 2, inOneLine.MatchString(request):
		return turnv1.Strategy_STRATEGY_PLAN, "the request names several steps"
	case aboutWhat.MatchString(request) && !here.MatchString(request):
		return turnv1.Strategy_STRATEGY_DIRECT, "the request asks for general knowledge"
	case needsPlan.MatchString(request):
		return turnv1.Strategy_STRATEGY_PLAN, "the request is " + article(needsPlan.FindString(request)) + " task"
	case !several.MatchString(request) && nearestAgent(request, agents) != nil:
		return turnv1.Strategy_STRATEGY_ROUTE, "the request is simple and fits the agent " + nearestAgent(request, agents).GetAgentId()
	default:
		return turnv1.Strategy_STRATEGY_REACT, "the agent has tools"
	}
}

func article(word string) string { return "a \"" + strings.ToLower(word) + "\"" }
