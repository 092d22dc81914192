package executor

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// FinishBudget is the finish reason of a round that was broken off because the executor had used more than was left.
const FinishBudget = "budget"

// Left is what a round may use of the turn's limits. An executor does as many model calls as it likes in a round, so what it tells of
// them is looked at while it works.
type Left struct {
	// Limited says which of the others count: both can be used up.
	LimitedTokens, LimitedCost bool
	// Tokens that it may read and write.
	Tokens int64
	// Cost in millionths.
	Cost int64
}

// passed reports whether more was used than is left.
func (l Left) passed(u *turnv1.Usage) bool {
	return l.LimitedTokens && int64(u.GetInputTokens())+int64(u.GetOutputTokens()) > l.Tokens || l.LimitedCost && u.GetCostMicros() > l.Cost
}

// stopped is what an executor came to that was broken off: what it said. Its tool calls are not made.
func (in *reading) stopped() *Answer {
	out := &Answer{Text: in.text.String(), Reasoning: in.reasoning.String(), Usage: in.usage, FinishReason: FinishBudget}
	if in.answer != nil {
		out.Text = *in.answer
	}
	return out
}
