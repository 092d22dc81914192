package model

import (
	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// AddCost adds to the usage of model calls what they have cost:
//
//	cost = (read - cached) * input + cached * cached_input + written * output, each price for a million tokens.
//
// This follows OpenAI's price list, whose prompt_tokens include the cached ones, and which charges reasoning as output. Anthropic
// reports the tokens of its cache separately; our provider adds them to those read. Anthropic charges more for writing to its cache than
// for reading; it is counted as input, as we ask for no such writing.
func AddCost(price *turnv1.Price, u *turnv1.Usage) {
	if price == nil || u == nil {
		return
	}
	cached := min(u.GetCachedInputTokens(), u.GetInputTokens())
	u.CostMicros = money.Ceil(money.PerMillion(int64(u.GetInputTokens()-cached), price.GetInputMicros()) +
		money.PerMillion(int64(cached), price.GetCachedInputMicros()) + money.PerMillion(int64(u.GetOutputTokens()), price.GetOutputMicros()))
}
