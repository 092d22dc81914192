package storetest

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

func budgets(t *testing.T, s *store.Store) {
	addSession(t, s, "ses_1", "trn_1")
	locked := func() (turn store.Turn) {
		write(t, s, func(ctx context.Context, tx *store.Tx) (err error) {
			_, turn, err = tx.LockTurn(ctx, tenant, "trn_1")
			return err
		})
		return turn
	}
	if locked().Budgeted {
		t.Error("a turn is limited although there is no budget")
	}
	turn := locked()
	for _, b := range []budgetdb.Budget{
		{ID: "bgt_2", Scope: "session", Target: "ses_1", Max: budgetdb.Amount{Tokens: 9}},
		{ID: "bgt_1", Scope: "tenant", Max: budgetdb.Amount{Cost: 8}},
		{ID: "bgt_3", Scope: "agent", Target: turn.AgentID + "x", Max: budgetdb.Amount{Calls: 7}},
		{ID: "trn_1", Scope: budgetdb.ScopeTurn, Target: "trn_1", Max: budgetdb.Amount{Calls: 1}},
	} {
		b.Tenant, b.Period = tenant, "none"
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.AddBudget(ctx, b) })
	}
	if !locked().Budgeted {
		t.Error("a turn is not limited although there are budgets")
	}
	keys := []string{"tenant:", "session:ses_1", "agent:" + turn.AgentID, "turn:trn_1"}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		got, err := tx.LockBudgets(ctx, tenant, keys)
		if err != nil {
			return err
		}
		if len(got) != 3 || got[0].ID != "bgt_1" || got[1].ID != "bgt_2" || got[2].ID != "trn_1" {
			t.Errorf("locked %+v", got)
		}
		got[1].Used, got[1].Reserved = budgetdb.Amount{Tokens: 4}, budgetdb.Amount{Tokens: 5}
		if err := tx.SaveBudget(ctx, got[1]); err != nil {
			return err
		}
		for _, id := range []string{"bgt_1", "bgt_2"} {
			h := budgetdb.Hold{
				Tenant: tenant, TurnID: "trn_1", Step: "infer-1", BudgetID: id, Amount: budgetdb.Amount{Tokens: 5}, MaxOutput: 3,
				Bound: "tokens",
			}
			if err := tx.AddHold(ctx, h); err != nil {
				return err
			}
		}
		return tx.DeleteBudget(ctx, tenant, "bgt_1")
	})
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, read := range []func() ([]budgetdb.Hold, error){
			func() ([]budgetdb.Hold, error) { return tx.Holds(ctx, tenant, "trn_1", "infer-1") },
			func() ([]budgetdb.Hold, error) { return tx.TurnHolds(ctx, tenant, "trn_1") },
		} {
			holds, err := read()
			if err != nil {
				return err
			}
			if len(holds) != 1 || holds[0].BudgetID != "bgt_2" || holds[0].Tokens != 5 || holds[0].MaxOutput != 3 || holds[0].Bound != "tokens" {
				t.Errorf("holds %+v", holds)
			}
		}
		return tx.DropHolds(ctx, tenant, "trn_1", "")
	})
	list, err := s.Budgets(t.Context(), tenant, "", 10)
	must(t, err)
	if len(list) != 2 || list[0].ID != "bgt_2" || list[0].Used.Tokens != 4 || list[0].Reserved.Tokens != 5 {
		t.Errorf("list %+v", list)
	}
	if _, err := s.Budget(t.Context(), tenant, "trn_1"); err == nil {
		t.Error("a turn's own limits are shown as a budget")
	}
}
