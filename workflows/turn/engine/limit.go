package engine

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// limited ends a turn by one of its own limits, named as in an agent's limits. What it has said stays: the turn is completed.
func limited(reason, limit string, value int64) *turnv1.Ending {
	ending := completed(reason)
	ending.LimitReached = &turnv1.LimitReached{Limit: limit, Value: value, Scope: scopeTurn}
	return ending
}

// scopeTurn is the scope of a turn's own limits, see windlass.turn.v1.LimitUse.
const scopeTurn = "turn"

// exhausted ends the turn when a step met the end of a limit. The turn's own token limit has a name of its own.
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
