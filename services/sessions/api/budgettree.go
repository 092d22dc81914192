package api

import (
	"context"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/budget"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// GetBudgetTree implements BudgetService.
func (s *Budgets) GetBudgetTree(ctx context.Context, _ *sessionsv1.GetBudgetTreeRequest) (*sessionsv1.BudgetTree, error) {
	roots, truncated, err := s.budgets.Tree(ctx)
	if err != nil {
		return nil, err
	}
	return &sessionsv1.BudgetTree{Roots: nodesToProto(roots), Truncated: truncated}, nil
}

func nodesToProto(nodes []*budget.Node) []*sessionsv1.BudgetNode {
	var out []*sessionsv1.BudgetNode
	for _, n := range nodes {
		out = append(out, &sessionsv1.BudgetNode{
			Budget: budgetToProto(n.Budget), Used: amountToProto(n.Used), Reserved: amountToProto(n.Reserved),
			Remaining: amountToProto(remaining(n.Budget)), Children: nodesToProto(n.Children),
		})
	}
	return out
}

// remaining is what is neither used nor reserved of each limit.
func remaining(b budgetdb.Budget) budgetdb.Amount {
	left := b.Max.Minus(b.Used).Minus(b.Reserved)
	return budgetdb.Amount{Tokens: max(left.Tokens, 0), Cost: max(left.Cost, 0), Calls: max(left.Calls, 0)}
}

func amountToProto(a budgetdb.Amount) *sessionsv1.BudgetAmount {
	return &sessionsv1.BudgetAmount{Tokens: a.Tokens, CostMicros: a.Cost, ToolCalls: a.Calls}
}
