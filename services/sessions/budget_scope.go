package sessions

import (
	"errors"
	"time"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/reserve"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Scopes of budgets, and their periods.
const (
	scopeTenant  = "tenant"
	scopeSubject = "subject"
	scopeSession = "session"
	scopeAgent   = "agent"

	periodNone  = "none"
	periodDay   = "day"
	periodMonth = "month"
)

// warnAt is the part of a limit at which turns are told of it, in percent, unless the budget says otherwise.
const warnAt = 80

// scopesOf names the budgets that the use of a turn counts for: those of its tenant, subject, session and agent, and its own limits; for the
// turn of a child session also those of the turns above it, which are given along with it.
func scopesOf(lineage ...store.Turn) []string {
	keys := []string{store.ScopeKey(scopeTenant, "")}
	seen := map[string]bool{}
	add := func(scope, target string) {
		if key := store.ScopeKey(scope, target); !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for _, t := range lineage {
		add(scopeSubject, t.Subject)
		add(scopeSession, t.SessionID)
		add(scopeAgent, t.AgentID)
		add(store.ScopeTurn, t.ID)
	}
	return keys
}

// lineage gives a turn and, for that of a sub-agent, the turns above it: what it uses counts for them too. What is read of those does not change.
func lineage(tx *journal.Tx, t store.Turn) ([]store.Turn, error) {
	line := []store.Turn{t}
	for t.AgentPath != "" {
		link, err := tx.Child(tx.Context(), t.Tenant, t.ID)
		if err == nil {
			t, err = tx.Turn(tx.Context(), t.Tenant, link.ParentTurnID)
		}
		if errors.Is(err, store.ErrNotFound) { // a turn above it was deleted with its session
			return line, nil
		}
		if err != nil {
			return nil, err
		}
		line = append(line, t)
	}
	return line, nil
}

// lockBudgets reads the budgets of a turn as they stand now and keeps others from changing them. There are none for a turn that has none, and
// no query then.
func lockBudgets(tx *journal.Tx, t store.Turn) ([]store.Budget, error) {
	if !t.Budgeted {
		return nil, nil
	}
	line, err := lineage(tx, t)
	if err != nil {
		return nil, err
	}
	budgets, err := tx.LockBudgets(tx.Context(), t.Tenant, scopesOf(line...))
	for i := range budgets {
		turnPage(&budgets[i], tx.NowUs)
	}
	return budgets, err
}

// turnPage begins the period of a budget that is now, if it is a later one than that counted so far. What steps under way hold stays held.
func turnPage(b *store.Budget, nowUs int64) {
	if start := periodStart(b.Period, nowUs); start > b.PeriodUs {
		b.PeriodUs, b.Used = start, store.Amount{}
	}
}

// periodStart is when the period began that a time falls in, in Unix microseconds; 0 without a period.
func periodStart(period string, us int64) int64 {
	t := time.UnixMicro(us).UTC()
	switch period {
	case periodDay:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).UnixMicro()
	case periodMonth:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	default:
		return 0
	}
}

// limitTurn makes the limits that a turn has pinned a budget of its own, so that they are kept in the same way as all others, also for the turns
// below it.
func limitTurn(tx *journal.Tx, t *store.Turn, surface *turnv1.Surface) error {
	most := store.Amount{Tokens: int64(surface.GetMaxTokens()), Cost: surface.GetMaxCostMicros(), Calls: int64(surface.GetMaxToolCalls())}
	if most == (store.Amount{}) {
		return nil
	}
	t.Budgeted = true
	return tx.AddBudget(tx.Context(), store.Budget{
		Tenant: t.Tenant, ID: t.ID, Scope: store.ScopeTurn, Target: t.ID, Period: periodNone, Max: most, WarnAt: warnAt,
		CreateUs: tx.NowUs, UpdateUs: tx.NowUs,
	})
}

// Kinds of limits, as events name them.
const (
	limitTokens = reserve.Tokens
	limitCost   = reserve.Cost
	limitCalls  = "tool_calls"
)

// limitUse tells how much of a limit is used.
func limitUse(b store.Budget, what string) *turnv1.LimitUse {
	use := &turnv1.LimitUse{Scope: b.Scope, BudgetId: b.ID, What: what}
	use.Limit, use.Used = part(b.Max, what), part(b.Used, what)
	return use
}

// part is the part of an amount that a kind of limit is about.
func part(a store.Amount, what string) int64 {
	switch what {
	case limitTokens:
		return a.Tokens
	case limitCost:
		return a.Cost
	default:
		return a.Calls
	}
}
