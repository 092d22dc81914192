package sessions

import (
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/reserve"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// settle puts what a step has used in the place of what it held, in all budgets of its turn, and tells where a limit is near or was reached. An
// answer that was cut where a limit ends has its outcome say so.
func settle(tx *journal.Tx, t store.Turn, step store.Step, outcome *turnv1.StepOutcome) error {
	kind := turnv1.StepKind(step.Kind)
	if !spends(kind) {
		return nil
	}
	budgets, err := lockBudgets(tx, t)
	if err != nil || len(budgets) == 0 {
		return err
	}
	holds, err := tx.Holds(tx.Context(), t.Tenant, t.ID, step.Key)
	if err != nil {
		return err
	}
	if err := learn(tx, t, outcome, holds); err != nil {
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
		if err := warn(tx, t, step, b, before); err != nil {
			return err
		}
		if h.Bound != "" && outcome.GetFinishReason() == "length" {
			if err := cutShort(tx, t, step, exhausted(b, h.Bound), outcome); err != nil {
				return err
			}
		}
	}
	return tx.DropHolds(tx.Context(), t.Tenant, t.ID, step.Key)
}

// learn has the next estimates for the turn's agent and model start from what a model step used, if that was told.
func learn(tx *journal.Tx, t store.Turn, outcome *turnv1.StepOutcome, holds []store.Hold) error {
	i := slices.IndexFunc(holds, func(h store.Hold) bool { return h.Prompt > 0 })
	if i < 0 || outcome.GetUsage().GetModelCalls() == 0 || outcome.GetError() != nil || outcome.GetCancelled() {
		return nil
	}
	var known reserve.Ratio
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

// usedBy is what a step counts for in budgets.
func usedBy(kind turnv1.StepKind, outcome *turnv1.StepOutcome) store.Amount {
	u := outcome.GetUsage()
	if kind == turnv1.StepKind_STEP_KIND_TOOL {
		return store.Amount{Calls: int64(u.GetToolCalls())}
	}
	return store.Amount{Tokens: int64(u.GetInputTokens()) + int64(u.GetOutputTokens()), Cost: u.GetCostMicros()}
}

func holdOf(holds []store.Hold, budget string) store.Hold {
	for _, h := range holds {
		if h.BudgetID == budget {
			return h
		}
	}
	return store.Hold{}
}

// warn tells once in a period that most of a limit is used: when the part to warn at is passed.
func warn(tx *journal.Tx, t store.Turn, step store.Step, b store.Budget, before store.Amount) error {
	for _, what := range []string{limitTokens, limitCost, limitCalls} {
		limit := part(b.Max, what)
		passed := func(used int64) bool { return limit > 0 && used >= (limit*b.WarnAt+99)/100 }
		if passed(part(before, what)) || !passed(part(b.Used, what)) {
			continue
		}
		_, err := tx.Append(stepOrigin(t, step), &turnv1.Event{Data: &turnv1.Event_BudgetWarning{
			BudgetWarning: &turnv1.BudgetWarning{Use: limitUse(b, what), WarnAt: int32(b.WarnAt)},
		}})
		if err != nil {
			return err
		}
	}
	return nil
}

// cutShort says that an answer was cut where a budget ends.
func cutShort(tx *journal.Tx, t store.Turn, step store.Step, over *turnv1.BudgetExhausted, outcome *turnv1.StepOutcome) error {
	outcome.Exhausted = proto.CloneOf(over.GetUse())
	_, err := tx.Append(stepOrigin(t, step), &turnv1.Event{Data: &turnv1.Event_BudgetExhausted{BudgetExhausted: over}})
	return err
}

// freeHolds releases what steps of a turn that ends have reserved and not settled, and removes the turn's own limits. A tool call among it counts as
// made: a worker that was lost, or that another one has overtaken, may have sent it.
func freeHolds(tx *journal.Tx, t store.Turn) error {
	budgets, err := lockBudgets(tx, t)
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
