package budget

import (
	"github.com/windlass-dev/windlass/libs/money"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// scopeKeys returns the keys of the budgets that the use of a turn counts for: those of the tenant and, for the turn and each of
// its ancestors, those of its subject, session and agent and its own limits, and
// the quotas that it was accepted under.
func scopeKeys(line []store.Turn) []string {
	keys := []string{budgetdb.ScopeKey(budgetdb.ScopeTenant, "")}
	seen := map[string]bool{}
	add := func(scope budgetdb.BudgetScope, target string) {
		if key := budgetdb.ScopeKey(scope, target); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for _, t := range line {
		if t.Quota {
			add(budgetdb.ScopeTenantQuota, "")
			add(budgetdb.ScopeUserQuota, t.Subject)
		}
		add(budgetdb.ScopeSubject, t.Subject)
		add(budgetdb.ScopeSession, t.SessionID)
		add(budgetdb.ScopeAgent, t.AgentID)
		add(budgetdb.ScopeTurn, t.ID)
	}
	return keys
}

// lock reads the budgets of a turn in their current period and locks them until the transaction ends. A turn without budgets
// costs no query.
func lock(tx *journal.Tx, t store.Turn) ([]budgetdb.Budget, error) {
	if !t.Budgeted {
		return nil, nil
	}
	line, err := tx.WithAncestors(tx.Context(), t)
	if err != nil {
		return nil, err
	}
	budgets, err := tx.LockBudgets(tx.Context(), t.Tenant, scopeKeys(line))
	for i := range budgets {
		startPeriod(&budgets[i], tx.Now())
	}
	return budgets, err
}

// LimitTurn makes the limits that a turn has pinned a budget of its own, which its descendants count for too. It sets t.Budgeted
// if there are any.
func LimitTurn(tx *journal.Tx, t *store.Turn, surface *turnv1.Surface) error {
	most := budgetdb.Amount{Tokens: int64(surface.GetMaxTokens()), Cost: surface.GetMaxCostMicros(), Calls: int64(surface.GetMaxToolCalls())}
	if most == (budgetdb.Amount{}) {
		return nil
	}
	t.Budgeted = true
	return tx.AddBudget(tx.Context(), budgetdb.Budget{
		Tenant: t.Tenant, ID: t.ID, Scope: budgetdb.ScopeTurn, Target: t.ID, Period: budgetdb.PeriodNone, Max: most, WarnAt: DefaultWarnAt,
		CreateTime: tx.Now(), UpdateTime: tx.Now(),
	})
}

// Limit is a kind of limit, as events name it.
type Limit string

// The kinds of limits.
const (
	LimitTokens Limit = "tokens"
	LimitCost   Limit = "cost"
	LimitCalls  Limit = "tool_calls"
)

// of returns the part of an amount that the limit is about.
func (l Limit) of(a budgetdb.Amount) int64 {
	switch l {
	case LimitTokens:
		return a.Tokens
	case LimitCost:
		return a.Cost
	default:
		return a.Calls
	}
}

// use returns how much of a limit of a budget is used.
func (l Limit) use(b budgetdb.Budget) *turnv1.LimitUse {
	u := &turnv1.LimitUse{Scope: string(b.Scope), BudgetId: b.ID, What: string(l), Limit: l.of(b.Max), Used: l.of(b.Used)}
	if b.Scope.Quota() {
		u.BudgetId = "" // it is no budget that somebody can read
	}
	if l == LimitCost {
		u.LimitCost, u.UsedCost = money.Text(u.GetLimit()), money.Text(u.GetUsed())
	}
	return u
}

// exhausted is the event which reports that a limit of a budget leaves no room for a step.
func (l Limit) exhausted(b budgetdb.Budget) *turnv1.BudgetExhausted {
	return &turnv1.BudgetExhausted{Use: l.use(b), Reserved: l.of(b.Reserved)}
}

// warns reports whether the part of a limit to warn at is passed by what is used now and was not before.
func (l Limit) warns(b budgetdb.Budget, before, now budgetdb.Amount) bool {
	limit := l.of(b.Max)
	passed := func(used int64) bool { return limit > 0 && used >= (limit*b.WarnAt+99)/100 }
	return !passed(l.of(before)) && passed(l.of(now))
}

// warning is the event which reports that a limit of a budget is nearly used up.
func (l Limit) warning(b budgetdb.Budget) *turnv1.BudgetWarning {
	w := &turnv1.BudgetWarning{Use: l.use(b), WarnAt: int32(b.WarnAt)}
	if l == LimitCalls {
		w.Reserved = b.Reserved.Calls
	}
	return w
}
