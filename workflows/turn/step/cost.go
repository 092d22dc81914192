package step

import (
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/tokens"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// ownWords is what the text protocol, plans and choices add to a prompt in words of ours, in tokens.
const ownWords = 800

// promptTokens estimates what instructions and tools take in each model call of a turn.
func promptTokens(agent *sessionsv1.Agent, tools []*registryv1.Tool, client []*sessionsv1.ClientTool, agents []*sessionsv1.AgentTool) int32 {
	sum := tokens.Text(agent.GetInstructions())
	if s := agent.GetStrategy(); s != turnv1.Strategy_STRATEGY_UNSPECIFIED && s != turnv1.Strategy_STRATEGY_REACT && s != turnv1.Strategy_STRATEGY_DIRECT {
		sum += ownWords
	}
	for _, t := range tools {
		sum += tokens.Text(t.GetName()) + tokens.Text(t.GetDescription()) + tokens.Text(t.GetInputSchemaJson())
	}
	for _, t := range client {
		sum += tokens.Text(t.String())
	}
	for _, t := range agents {
		sum += tokens.Text(t.String())
	}
	return int32(min(sum, 1<<30))
}

// maxCost is the agent's limit in millionths; its form was checked when it was set.
func maxCost(limits *sessionsv1.Limits) int64 {
	cost, _ := money.Parse(limits.GetMaxCost())
	return int64(cost)
}

// bound has the model write no more than was reserved for the step.
func (w *work) bound(req *inferencev1.GenerateRequest) {
	if most := w.lease.GetMaxOutputTokens(); most > 0 && (req.GetMaxOutputTokens() == 0 || req.GetMaxOutputTokens() > most) {
		req.MaxOutputTokens = most
	}
}

// priced says what model calls have cost:
//
//	cost = (read - cached) * input + cached * cached_input + written * output, each price for a million tokens.
//
// It is how OpenAI's price list is meant, whose prompt_tokens hold the cached ones, and which charges reasoning as output. Anthropic tells the
// tokens of its cache apart; our provider adds them to those read. What Anthropic takes for writing to its cache, more than for reading, is
// counted as input, as we ask for no such writing.
func (w *work) priced(u *turnv1.Usage) {
	price := w.loaded.GetSurface().GetPrice()
	if price == nil || u == nil {
		return
	}
	cached := min(u.GetCachedInputTokens(), u.GetInputTokens())
	u.CostMicros = money.Ceil(money.PerMillion(int64(u.GetInputTokens()-cached), price.GetInputMicros()) +
		money.PerMillion(int64(cached), price.GetCachedInputMicros()) + money.PerMillion(int64(u.GetOutputTokens()), price.GetOutputMicros()))
}
