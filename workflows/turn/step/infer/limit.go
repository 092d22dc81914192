package infer

import (
	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/turn/executor"
	"github.com/windlass-dev/windlass/workflows/turn/step"
)

// hostedLimits are the turn's own limits of tokens and cost, and what it has used of them before a round of its executor.
type hostedLimits struct {
	turn                    string
	maxTokens, maxCost      int64 // 0 = none
	tokensBefore, paidSoFar int64
}

// limits reads what the turn may use, and has used.
func (i *infer) limits(outcomes []*turnv1.StepOutcome) hostedLimits {
	surface := i.Loaded.GetSurface()
	l := hostedLimits{turn: i.Turn.TurnID, maxTokens: int64(surface.GetMaxTokens()), maxCost: surface.GetMaxCostMicros()}
	for _, o := range outcomes {
		l.tokensBefore += int64(o.GetUsage().GetInputTokens()) + int64(o.GetUsage().GetOutputTokens())
		l.paidSoFar += o.GetUsage().GetCostMicros()
	}
	return l
}

// left is what the round may use.
func (l hostedLimits) left() executor.Left {
	return executor.Left{
		LimitedTokens: l.maxTokens > 0, Tokens: max(0, l.maxTokens-l.tokensBefore),
		LimitedCost: l.maxCost > 0, Cost: max(0, l.maxCost-l.paidSoFar),
	}
}

// over says which limit a round that was broken off has passed.
func (l hostedLimits) over(u *turnv1.Usage) *turnv1.LimitUse {
	use := &turnv1.LimitUse{Scope: "turn", BudgetId: l.turn, What: "cost", Limit: l.maxCost, Used: l.paidSoFar + u.GetCostMicros()}
	if l.maxCost == 0 || use.GetUsed() <= l.maxCost {
		use.What, use.Limit, use.Used = "tokens", l.maxTokens, l.tokensBefore+int64(u.GetInputTokens())+int64(u.GetOutputTokens())
		return use
	}
	use.LimitCost, use.UsedCost = money.Text(use.GetLimit()), money.Text(use.GetUsed())
	return use
}

// broken completes the commit of a round that was broken off at a limit: the turn ends with what was said.
func (i *infer) broken(req *step.Commit) *step.Commit {
	if i.over == nil {
		return req
	}
	req.Outcome.Exhausted = i.over
	req.Events = append(req.Events, &turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: &turnv1.BudgetExhausted{Use: i.over}}})
	return req
}
