package budget

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// maxTree bounds the budgets of a tree.
const maxTree = 1000

// Node is a budget with those that limit a part of its turns.
type Node struct {
	budgetdb.Budget
	Children []*Node
}

// Tree returns the budgets of the caller's tenant as trees, and whether the newest are left out.
func (s *Service) Tree(ctx context.Context) (roots []*Node, truncated bool, _ error) {
	all, err := s.List(ctx, "", maxTree+1)
	if err != nil {
		return nil, false, err
	}
	truncated = len(all) > maxTree
	all = all[:min(len(all), maxTree)]
	t := tree{}
	nodes := make([]*Node, len(all))
	for i, b := range all {
		nodes[i] = &Node{Budget: b}
		t[budgetdb.ScopeKey(b.Scope, b.Target)] = append(t[budgetdb.ScopeKey(b.Scope, b.Target)], nodes[i])
	}
	for _, n := range nodes {
		parent, err := s.parent(ctx, t, n)
		if err != nil {
			return nil, false, err
		}
		if parent == nil {
			roots = append(roots, n)
		} else {
			parent.Children = append(parent.Children, n)
		}
	}
	return roots, truncated, nil
}

// tree has budgets by what they are for, oldest first.
type tree map[string][]*Node

// find returns the budget of a scope with a period, else its oldest; nil if there is none.
func (t tree) find(scope budgetdb.BudgetScope, target string, period budgetdb.BudgetPeriod) *Node {
	all := t[budgetdb.ScopeKey(scope, target)]
	for _, n := range all {
		if n.Period == period {
			return n
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// parent returns the budget that a budget is below, nil for a root.
func (s *Service) parent(ctx context.Context, t tree, n *Node) (*Node, error) {
	if n.Scope == budgetdb.ScopeTenant {
		return nil, nil
	}
	if n.Scope == budgetdb.ScopeSession {
		ses, err := s.deps.Store.Session(ctx, n.Tenant, n.Target)
		if err != nil && !errors.Is(err, store.ErrNotFound) { // budgets outlive their sessions
			return nil, err
		}
		if of := t.find(budgetdb.ScopeSubject, ses.Subject, n.Period); err == nil && of != nil {
			return of, nil
		}
	}
	return t.find(budgetdb.ScopeTenant, "", n.Period), nil
}
