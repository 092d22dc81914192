package engine

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// limited ends a turn at one of its own limits, named as in an agent's limits. Its output so far is kept: the turn is completed.
func limited(reason, limit string, value int64) *turnv1.Ending {
	ending := completed(reason)
	ending.LimitReached = &turnv1.LimitReached{Limit: limit, Value: value, Scope: scopeTurn}
	return ending
}

// scopeTurn is the scope of a turn's own limits, see windlass.turn.v1.LimitUse.
const scopeTurn = "turn"

// exhausted ends the turn if a step was stopped by a limit. The turn's own token limit has a stop reason of its own.
func (t record) exhausted() *turnv1.Ending {
	for _, o := range t.all {
		e := o.GetExhausted()
		if e == nil {
			continue
		}
		reason := StopBudget
		if e.GetScope() == scopeTurn && e.GetWhat() == "tokens" {
			reason = StopMaxTokens
		}
		ending := limited(reason, "max_"+e.GetWhat(), e.GetLimit())
		ending.LimitReached.Scope, ending.LimitReached.BudgetId = e.GetScope(), e.GetBudgetId()
		return ending
	}
	return nil
}

// outOfTime ends the turn because its time is up.
func (t record) outOfTime() *turnv1.Ending {
	return limited(StopDeadline, "turn_seconds", int64(t.surface().GetTurnSeconds()))
}
