package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/page"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/access"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func noBudget(id string) error { return fault.NotFound("budget %q does not exist", id) }

// CreateBudget implements BudgetService.
func (s *Service) CreateBudget(ctx context.Context, req *sessionsv1.CreateBudgetRequest) (*sessionsv1.Budget, error) {
	want := req.GetBudget()
	now := s.store.NowUs()
	b := store.Budget{
		Tenant: authn.Tenant(ctx), ID: ids.New(ids.Budget), Scope: want.GetScope(), Target: want.GetTarget(), Period: want.GetPeriod(),
		CreateUs: now, UpdateUs: now,
	}
	or(&b.Period, periodNone)
	b.PeriodUs = periodStart(b.Period, now)
	wrong := setLimits(&b, want)
	switch {
	case b.Scope == "":
		wrong = append(wrong, fault.Field{Path: "budget.scope", Message: "say whose turns it is for: tenant, subject, session or agent"})
	case b.Scope == scopeTenant && b.Target != "":
		wrong = append(wrong, fault.Field{Path: "budget.target", Message: "must be empty for the scope tenant"})
	case b.Scope != scopeTenant && (b.Target == "" || !access.Storable(b.Target)):
		wrong = append(wrong, fault.Field{Path: "budget.target", Message: "name the " + b.Scope})
	}
	if len(wrong) > 0 {
		return nil, fault.InvalidFields(wrong)
	}
	if b.Scope == scopeSession {
		if _, err := s.session(ctx, b.Target); err != nil {
			return nil, err
		}
	}
	if err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.AddBudget(ctx, b) }); err != nil {
		return nil, err
	}
	return budgetToProto(b, s.store.NowUs()), nil
}

// setLimits takes the limits over from a request and says what is wrong with them.
func setLimits(b *store.Budget, want *sessionsv1.Budget) []fault.Field {
	cost, err := money.Parse(want.GetMaxCost())
	if err != nil {
		return []fault.Field{{Path: "budget.max_cost", Message: err.Error()}}
	}
	b.Max = store.Amount{Tokens: want.GetMaxTokens(), Cost: int64(cost), Calls: want.GetMaxToolCalls()}
	b.WarnAt = int64(want.GetWarnAt())
	or(&b.WarnAt, warnAt)
	if b.Max == (store.Amount{}) {
		return []fault.Field{{Path: "budget", Message: "limits nothing: set max_tokens, max_cost or max_tool_calls"}}
	}
	return nil
}

// GetBudget implements BudgetService.
func (s *Service) GetBudget(ctx context.Context, req *sessionsv1.GetBudgetRequest) (*sessionsv1.Budget, error) {
	if !access.Storable(req.GetBudgetId()) {
		return nil, noBudget(req.GetBudgetId())
	}
	b, err := s.store.Budget(ctx, authn.Tenant(ctx), req.GetBudgetId())
	if errors.Is(err, store.ErrNotFound) {
		err = noBudget(req.GetBudgetId())
	}
	if err != nil {
		return nil, err
	}
	return budgetToProto(b, s.store.NowUs()), nil
}

// budgetCursor is the last budget of a page.
type budgetCursor struct{ ID string }

// ListBudgets implements BudgetService.
func (s *Service) ListBudgets(ctx context.Context, req *sessionsv1.ListBudgetsRequest) (*sessionsv1.ListBudgetsResponse, error) {
	var after budgetCursor
	size, err := page.Request("budgets", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Budgets(ctx, authn.Tenant(ctx), after.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, "budgets", func(b store.Budget) any { return budgetCursor{b.ID} })
	out := &sessionsv1.ListBudgetsResponse{NextPageToken: next}
	for _, b := range rows {
		out.Budgets = append(out.Budgets, budgetToProto(b, s.store.NowUs()))
	}
	return out, nil
}

var budgetFields = fieldmask.Resource{
	Name: "budget", Mutable: []string{"max_tokens", "max_cost", "max_tool_calls", "warn_at"}, Fixed: []string{"scope", "target", "period"},
}

// UpdateBudget implements BudgetService.
func (s *Service) UpdateBudget(ctx context.Context, req *sessionsv1.UpdateBudgetRequest) (*sessionsv1.Budget, error) {
	id := req.GetBudget().GetId()
	if !access.Storable(id) {
		return nil, noBudget(id)
	}
	var b store.Budget
	err := s.store.Write(ctx, func(tx *store.Tx) (err error) {
		if b, err = tx.LockBudget(ctx, authn.Tenant(ctx), id); err != nil {
			return err
		}
		want := budgetToProto(b, s.store.NowUs())
		if err := budgetFields.Apply(want, req.GetBudget(), req.GetUpdateMask().GetPaths()); err != nil {
			return err
		}
		if wrong := setLimits(&b, want); len(wrong) > 0 {
			return fault.InvalidFields(wrong)
		}
		b.UpdateUs = s.store.NowUs()
		turnPage(&b, b.UpdateUs)
		return tx.SaveBudget(ctx, b)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noBudget(id)
	}
	if err != nil {
		return nil, err
	}
	return budgetToProto(b, s.store.NowUs()), nil
}

// DeleteBudget implements BudgetService.
func (s *Service) DeleteBudget(ctx context.Context, req *sessionsv1.DeleteBudgetRequest) (*sessionsv1.DeleteBudgetResponse, error) {
	id := req.GetBudgetId()
	if !access.Storable(id) {
		return nil, noBudget(id)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.LockBudget(ctx, authn.Tenant(ctx), id); err != nil {
			return err
		}
		return tx.DeleteBudget(ctx, authn.Tenant(ctx), id)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = noBudget(id)
	}
	if err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteBudgetResponse{}, nil
}

// budgetToProto is a budget as callers see it: what was used in a period that is over counts no more.
func budgetToProto(b store.Budget, nowUs int64) *sessionsv1.Budget {
	turnPage(&b, nowUs)
	return &sessionsv1.Budget{
		Id: b.ID, Scope: b.Scope, Target: b.Target, Period: b.Period, WarnAt: int32(b.WarnAt),
		MaxTokens: b.Max.Tokens, MaxCost: amount(b.Max.Cost), MaxToolCalls: b.Max.Calls,
		UsedTokens: b.Used.Tokens, UsedCost: amount(b.Used.Cost), UsedToolCalls: b.Used.Calls,
		ReservedTokens: b.Reserved.Tokens, ReservedCost: amount(b.Reserved.Cost), ReservedToolCalls: b.Reserved.Calls,
		PeriodStart: stamp(b.PeriodUs), CreateTime: stamp(b.CreateUs), UpdateTime: stamp(b.UpdateUs),
	}
}

// amount is money as people write it, "" for none.
func amount(micros int64) string {
	if micros == 0 {
		return ""
	}
	return money.Micros(micros).String()
}
