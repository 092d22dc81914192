package api

import (
	"context"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/fieldmask"
	"github.com/windlass-dev/windlass/libs/money"
	"github.com/windlass-dev/windlass/libs/page"
	"github.com/windlass-dev/windlass/libs/timestamp"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// Budgets implements BudgetService.
type Budgets struct {
	sessionsv1.UnimplementedBudgetServiceServer
	budgets *budget.Service
}

// NewBudgets serves budgets.
func NewBudgets(budgets *budget.Service) *Budgets { return &Budgets{budgets: budgets} }

// CreateBudget implements BudgetService.
func (s *Budgets) CreateBudget(ctx context.Context, req *sessionsv1.CreateBudgetRequest) (*sessionsv1.Budget, error) {
	spec, err := budgetFromProto(req.GetBudget())
	if err != nil {
		return nil, err
	}
	return budgetAnswer(s.budgets.Create(ctx, spec))
}

// GetBudget implements BudgetService.
func (s *Budgets) GetBudget(ctx context.Context, req *sessionsv1.GetBudgetRequest) (*sessionsv1.Budget, error) {
	return budgetAnswer(s.budgets.Get(ctx, req.GetBudgetId()))
}

// ListBudgets implements BudgetService.
func (s *Budgets) ListBudgets(ctx context.Context, req *sessionsv1.ListBudgetsRequest) (*sessionsv1.ListBudgetsResponse, error) {
	const list = "budgets"
	var after idCursor
	size, err := page.Request(list, req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.budgets.List(ctx, after.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := page.Trim(rows, size, list, func(b budgetdb.Budget) any { return idCursor{b.ID} })
	out := &sessionsv1.ListBudgetsResponse{NextPageToken: next}
	for _, b := range rows {
		out.Budgets = append(out.Budgets, budgetToProto(b))
	}
	return out, nil
}

var budgetFields = fieldmask.Resource{
	Name: "budget", Mutable: []string{"max_tokens", "max_cost", "max_tool_calls", "warn_at"}, Fixed: []string{"scope", "target", "period"},
}

// UpdateBudget implements BudgetService.
func (s *Budgets) UpdateBudget(ctx context.Context, req *sessionsv1.UpdateBudgetRequest) (*sessionsv1.Budget, error) {
	return budgetAnswer(s.budgets.Update(ctx, req.GetBudget().GetId(), func(spec *budget.Spec) error {
		now := budgetSpecToProto(*spec)
		err := budgetFields.Apply(now, req.GetBudget(), req.GetUpdateMask().GetPaths())
		if err == nil {
			*spec, err = budgetFromProto(now)
		}
		return err
	}))
}

// DeleteBudget implements BudgetService.
func (s *Budgets) DeleteBudget(ctx context.Context, req *sessionsv1.DeleteBudgetRequest) (*sessionsv1.DeleteBudgetResponse, error) {
	if err := s.budgets.Delete(ctx, req.GetBudgetId()); err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteBudgetResponse{}, nil
}

// budgetAnswer converts the result of a call.
func budgetAnswer(b budgetdb.Budget, err error) (*sessionsv1.Budget, error) {
	if err != nil {
		return nil, err
	}
	return budgetToProto(b), nil
}

// budgetFromProto converts the fields that an owner sets.
func budgetFromProto(b *sessionsv1.Budget) (budget.Spec, error) {
	cost, err := money.Parse(b.GetMaxCost())
	if err != nil {
		return budget.Spec{}, fault.Invalid("budget.max_cost", "%s", err)
	}
	return budget.Spec{
		Scope: budgetdb.BudgetScope(b.GetScope()), Target: b.GetTarget(), Period: budgetdb.BudgetPeriod(b.GetPeriod()),
		Max: budgetdb.Amount{Tokens: b.GetMaxTokens(), Cost: int64(cost), Calls: b.GetMaxToolCalls()}, WarnAt: int64(b.GetWarnAt()),
	}, nil
}

// budgetSpecToProto converts the fields that an owner sets.
func budgetSpecToProto(spec budget.Spec) *sessionsv1.Budget {
	return &sessionsv1.Budget{
		Scope: string(spec.Scope), Target: spec.Target, Period: string(spec.Period), WarnAt: int32(spec.WarnAt),
		MaxTokens: spec.Max.Tokens, MaxCost: amount(spec.Max.Cost), MaxToolCalls: spec.Max.Calls,
	}
}

// budgetToProto converts a budget as callers see it.
func budgetToProto(b budgetdb.Budget) *sessionsv1.Budget {
	return &sessionsv1.Budget{
		Id: b.ID, Scope: string(b.Scope), Target: b.Target, Period: string(b.Period), WarnAt: int32(b.WarnAt),
		MaxTokens: b.Max.Tokens, MaxCost: amount(b.Max.Cost), MaxToolCalls: b.Max.Calls,
		UsedTokens: b.Used.Tokens, UsedCost: amount(b.Used.Cost), UsedToolCalls: b.Used.Calls,
		ReservedTokens: b.Reserved.Tokens, ReservedCost: amount(b.Reserved.Cost), ReservedToolCalls: b.Reserved.Calls,
		PeriodStart: timestamp.Of(b.PeriodStart), CreateTime: timestamp.Of(b.CreateTime), UpdateTime: timestamp.Of(b.UpdateTime),
	}
}

// amount converts money to the text that people write, "" for none.
func amount(micros int64) string {
	if micros == 0 {
		return ""
	}
	return money.Micros(micros).String()
}
