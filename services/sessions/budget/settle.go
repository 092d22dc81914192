package budget

import (
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// Settle replaces what a step has reserved in the budgets of its turn by what it used, and appends an event for each limit that
// is nearly used up. If an answer was cut off by a limit, Settle sets outcome.Exhausted and appends an event for that too. The
// turn's session must be locked.
func (s *Service) Settle(tx *journal.Tx, t store.Turn, step store.Step, outcome *turnv1.StepOutcome) error {
	kind := step.Kind
	if !counts(kind) {
		return nil
	}
	budgets, err := lock(tx, t)
	if err != nil || len(budgets) == 0 {
		return err
	}
	holds, err := tx.Holds(tx.Context(), t.Tenant, t.ID, step.Key)
	if err != nil {
		return err
	}
	if err := updateRatio(tx, t, outcome, holds); err != nil {
		return err
	}
	used := usedBy(kind, outcome)
	for _, b := range budgets {
		h := holdOf(holds, b.ID)
		before := b.Used
		b.Used, b.Reserved = b.Used.Plus(used), b.Reserved.Minus(h.Amount)
		if err := tx.SaveBudget(tx.Context(), b); err != nil {
			return err
		}
		var over Limit
		if outcome.GetFinishReason() == "length" {
			over = Limit(h.Bound)
		}
		if err := warn(tx, t, step, b, before, h, over); err != nil {
			return err
		}
		if over != "" {
			if err := cutOff(tx, t, step, over.exhausted(b), outcome); err != nil {
				return err
			}
		}
	}
	return tx.DropHolds(tx.Context(), t.Tenant, t.ID, step.Key)
}

// updateRatio updates the ratio from what a model step used, if its provider reported that, for the next estimates of the turn's agent and
// model.
func updateRatio(tx *journal.Tx, t store.Turn, outcome *turnv1.StepOutcome, holds []budgetdb.Hold) error {
	i := slices.IndexFunc(holds, func(h budgetdb.Hold) bool { return h.Prompt > 0 })
	if i < 0 || outcome.GetUsage().GetModelCalls() == 0 || outcome.GetError() != nil || outcome.GetCancelled() {
		return nil
	}
	var known Ratio
	var err error
	if known.Input, known.Output, err = tx.ModelRatio(tx.Context(), t.Tenant, t.AgentID, t.Model); err != nil {
		return err
	}
	now := known.Learn(holds[i].Prompt, holds[i].MaxOutput, outcome.GetUsage())
	if now == known {
		return nil
	}
	return tx.SaveModelRatio(tx.Context(), t.Tenant, t.AgentID, t.Model, now.Input, now.Output)
}

// usedBy returns what a step used of budgets.
func usedBy(kind turnv1.StepKind, outcome *turnv1.StepOutcome) budgetdb.Amount {
	u := outcome.GetUsage()
	if kind == turnv1.StepKind_STEP_KIND_TOOL {
		return budgetdb.Amount{Calls: int64(u.GetToolCalls())}
	}
	return budgetdb.Amount{Tokens: int64(u.GetInputTokens()) + int64(u.GetOutputTokens()), Cost: u.GetCostMicros()}
}

func holdOf(holds []budgetdb.Hold, budget string) budgetdb.Hold {
	for _, h := range holds {
		if h.BudgetID == budget {
			return h
		}
	}
	return budgetdb.Hold{}
}

// warn appends an event for each limit of which the part to warn at was passed now: once in a period. Of a reserved tool call Reserve
// has warned, and of the limit that the step has exhausted another event says so.
func warn(
	tx *journal.Tx, t store.Turn, step store.Step, b budgetdb.Budget, before budgetdb.Amount, h budgetdb.Hold, exhausted Limit,
) error {
	for _, l := range []Limit{LimitTokens, LimitCost, LimitCalls} {
		if l == exhausted || l == LimitCalls && h.Calls > 0 || !l.warns(b, before, b.Used) {
			continue
		}
		_, err := tx.Append(journal.OfStep(t, step), &turnv1.Event{Data: &turnv1.Event_BudgetWarning{BudgetWarning: l.warning(b)}})
		if err != nil {
			return err
		}
	}
	return nil
}

// cutOff records that an answer was cut off by a limit.
func cutOff(tx *journal.Tx, t store.Turn, step store.Step, over *turnv1.BudgetExhausted, outcome *turnv1.StepOutcome) error {
	outcome.Exhausted = proto.CloneOf(over.GetUse())
	_, err := tx.Append(journal.OfStep(t, step), &turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: over}})
	return err
}

// Release releases what the steps of a turn that ends have reserved and not settled, and deletes the turn's own limits. A
// reserved tool call counts as made: a worker that was lost, or overtaken by another one, may have sent it. The turn's session
// must be locked.
func (s *Service) Release(tx *journal.Tx, t store.Turn) error {
	budgets, err := lock(tx, t)
	if err != nil || len(budgets) == 0 {
		return err
	}
	holds, err := tx.TurnHolds(tx.Context(), t.Tenant, t.ID)
	if err != nil {
		return err
	}
	for _, b := range budgets {
		if b.ID == t.ID {
			if err := tx.DeleteBudget(tx.Context(), t.Tenant, t.ID); err != nil {
				return err
			}
			continue
		}
		before := b.Reserved
		for _, h := range holds {
			if h.BudgetID == b.ID {
				b.Reserved = b.Reserved.Minus(h.Amount)
				b.Used.Calls += h.Calls
			}
		}
		if b.Reserved != before {
			if err := tx.SaveBudget(tx.Context(), b); err != nil {
				return err
			}
		}
	}
	if len(holds) == 0 {
		return nil
	}
	return tx.DropHolds(tx.Context(), t.Tenant, t.ID, "")
}
