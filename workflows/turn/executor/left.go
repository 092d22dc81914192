package executor

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// FinishBudget is the finish reason of a round that was stopped because the executor had used more than was left.
const FinishBudget = "budget"

// Left is what a round may use of the turn's limits. An executor may make any number of model calls in a round, so the usage that it
// reports is checked while it works.
type Left struct {
	// Limited means that the other fields count: both can be used up.
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

// stopped returns the answer of an executor that was stopped: its text so far. Its tool calls are not made.
func (in *reading) stopped() *Answer {
	out := &Answer{Text: in.text.String(), Reasoning: in.reasoning.String(), Usage: in.usage, FinishReason: FinishBudget}
	if in.answer != nil {
		out.Text = *in.answer
	}
	return out
}
