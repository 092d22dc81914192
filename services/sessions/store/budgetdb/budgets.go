package budgetdb

import (
	"context"
	"errors"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Amount is what a step may use, or has used: tokens, money in millionths, tool calls.
type Amount struct{ Tokens, Cost, Calls int64 }

// Plus adds.
func (a Amount) Plus(b Amount) Amount {
	return Amount{a.Tokens + b.Tokens, a.Cost + b.Cost, a.Calls + b.Calls}
}

// Minus subtracts.
func (a Amount) Minus(b Amount) Amount {
	return Amount{a.Tokens - b.Tokens, a.Cost - b.Cost, a.Calls - b.Calls}
}

// BudgetScope says whose turns a budget is for.
type BudgetScope string

// The scopes of budgets.
const (
	ScopeTenant  BudgetScope = "tenant"
	ScopeSubject BudgetScope = "subject"
	ScopeSession BudgetScope = "session"
	ScopeAgent   BudgetScope = "agent"
	// ScopeTurn is that of a turn's own limits. The row's id is the turn's.
	ScopeTurn BudgetScope = "turn"
)

// BudgetPeriod says when a budget starts to count from zero again.
type BudgetPeriod string

// The periods of budgets. Days and months are those of UTC.
const (
	PeriodNone  BudgetPeriod = "none"
	PeriodDay   BudgetPeriod = "day"
	PeriodMonth BudgetPeriod = "month"
)

// Budget is a limit over many turns, or a turn's own limits.
type Budget struct {
	// Tenant and ID name it.
	Tenant, ID string
	// Scope and Target say whose turns it is for, Period when it starts to count from zero.
	Scope  BudgetScope
	Target string
	Period BudgetPeriod
	// Max are the limits, 0 = none; WarnAt the part to warn at, in percent.
	Max    Amount
	WarnAt int64
	// PeriodStart is when the counted period began, zero without a period. Used counts from then; Reserved is what steps hold.
	PeriodStart            time.Time
	Used, Reserved         Amount
	CreateTime, UpdateTime time.Time
}

// ScopeKey returns the key by which the budgets of a scope and its target are found.
func ScopeKey(scope BudgetScope, target string) string { return string(scope) + ":" + target }

const budgetColumns = `tenant, id, scope, target, period, max_tokens, max_cost, max_calls, warn_at, period_us, used_tokens, used_cost,
	used_calls,
	reserved_tokens, reserved_cost, reserved_calls, create_us, update_us`

func scanBudget(s sqldb.Scanner) (b Budget, err error) {
	var start, create, update int64
	err = s.Scan(&b.Tenant, &b.ID, &b.Scope, &b.Target, &b.Period, &b.Max.Tokens, &b.Max.Cost, &b.Max.Calls, &b.WarnAt, &start,
		&b.Used.Tokens, &b.Used.Cost, &b.Used.Calls, &b.Reserved.Tokens, &b.Reserved.Cost, &b.Reserved.Calls, &create, &update)
	b.PeriodStart, b.CreateTime, b.UpdateTime = sqldb.Time(start), sqldb.Time(create), sqldb.Time(update)
	return b, err
}

// notHidden leaves out turns' own limits and quotas.
const notHidden = "scope NOT IN ('turn', 'tenant_quota', 'user_quota')"

const selectBudget = "SELECT " + budgetColumns + " FROM budgets WHERE tenant = $1 AND id = $2 AND " + notHidden

// Budget reads one. ErrNotFound when there is none.
func (s *Reader) Budget(ctx context.Context, tenant, id string) (Budget, error) {
	return rows.One(ctx, s.DB.Reader(), scanBudget, selectBudget, tenant, id)
}

// Budgets lists budgets by id, after the given one. Turns' own limits and quotas are not among them.
func (s *Reader) Budgets(ctx context.Context, tenant, after string, limit int) ([]Budget, error) {
	return rows.All(ctx, s.DB.Reader(), scanBudget, "SELECT "+budgetColumns+
		" FROM budgets WHERE tenant = $1 AND id > $2 AND "+notHidden+" ORDER BY id LIMIT $3", tenant, after, limit)
}

// LockBudget reads one and keeps others from changing it until the transaction ends.
func (tx *Tx) LockBudget(ctx context.Context, tenant, id string) (Budget, error) {
	return sqldb.One(ctx, tx, scanBudget, selectBudget+tx.DB.ForUpdate(), tenant, id)
}

// LockBudgets reads the budgets of some scope keys and keeps others from changing them until the transaction ends. All who lock
// several do so in the order of their ids, after the session.
func (tx *Tx) LockBudgets(ctx context.Context, tenant string, keys []string) ([]Budget, error) {
	args := []any{tenant}
	for _, key := range keys {
		args = append(args, key)
	}
	return sqldb.All(ctx, tx, scanBudget, "SELECT "+budgetColumns+" FROM budgets WHERE tenant = $1 AND scope_key IN ("+
		sqldb.Placeholders(2, len(keys))+") ORDER BY id"+tx.DB.ForUpdate(), args...)
}

var insertBudgets = sqldb.Insert("budgets", "scope_key, "+budgetColumns)

// AddBudget stores a new budget.
func (tx *Tx) AddBudget(ctx context.Context, b Budget) error {
	_, err := sqldb.Exec(ctx, tx, insertBudgets, b.columns()...)
	return err
}

// columns returns the values of a new row.
func (b Budget) columns() []any {
	return []any{
		ScopeKey(b.Scope, b.Target), b.Tenant, b.ID, string(b.Scope), b.Target, string(b.Period), b.Max.Tokens, b.Max.Cost, b.Max.Calls, b.WarnAt,
		sqldb.Micros(b.PeriodStart),
		b.Used.Tokens, b.Used.Cost, b.Used.Calls, b.Reserved.Tokens, b.Reserved.Cost, b.Reserved.Calls, sqldb.Micros(b.CreateTime),
		sqldb.Micros(b.UpdateTime),
	}
}

// SaveBudget writes what changes in a locked budget: limits and counters.
func (tx *Tx) SaveBudget(ctx context.Context, b Budget) error {
	return sqldb.ExecOne(ctx, tx, `UPDATE budgets SET max_tokens = $3, max_cost = $4, max_calls = $5, warn_at = $6, period_us = $7,
		used_tokens = $8,
		used_cost = $9, used_calls = $10, reserved_tokens = $11, reserved_cost = $12, reserved_calls = $13, update_us = $14
		WHERE tenant = $1 AND id = $2`, b.Tenant, b.ID, b.Max.Tokens, b.Max.Cost, b.Max.Calls, b.WarnAt, sqldb.Micros(b.PeriodStart),
		b.Used.Tokens, b.Used.Cost, b.Used.Calls, b.Reserved.Tokens, b.Reserved.Cost, b.Reserved.Calls, sqldb.Micros(b.UpdateTime))
}

// DeleteBudget removes a budget, or a turn's own limits, with what steps hold of it. ErrNotFound when there is none.
func (tx *Tx) DeleteBudget(ctx context.Context, tenant, id string) error {
	if err := sqldb.ExecOne(ctx, tx, "DELETE FROM budgets WHERE tenant = $1 AND id = $2", tenant, id); err != nil {
		return err
	}
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM budget_holds WHERE tenant = $1 AND budget_id = $2", tenant, id)
	return err
}

// Hold is what one step holds of one budget.
type Hold struct {
	// Tenant, TurnID, Step and BudgetID name it.
	Tenant, TurnID, Step, BudgetID string
	// Amount is held.
	Amount
	// Prompt is what one model call was estimated to read, in tokens; 0 for other steps.
	Prompt int64
	// MaxOutput is how many tokens a model call may write; Bound names the limit of this budget that is why it is no more, "" if it is not.
	MaxOutput int64
	Bound     string
}

const holdColumns = "tenant, turn_id, step_key, budget_id, tokens, cost, calls, prompt, max_output, bound"

func scanHold(s sqldb.Scanner) (h Hold, err error) {
	err = s.Scan(&h.Tenant, &h.TurnID, &h.Step, &h.BudgetID, &h.Tokens, &h.Cost, &h.Calls, &h.Prompt, &h.MaxOutput, &h.Bound)
	return h, err
}

// Holds reads what a step of a locked session's turn holds.
func (tx *Tx) Holds(ctx context.Context, tenant, turn, step string) ([]Hold, error) {
	return sqldb.All(ctx, tx, scanHold, "SELECT "+holdColumns+" FROM budget_holds WHERE tenant = $1 AND turn_id = $2 AND step_key = $3 "+
		"ORDER BY budget_id",
		tenant, turn, step)
}

// TurnHolds reads what all steps of a locked session's turn hold.
func (tx *Tx) TurnHolds(ctx context.Context, tenant, turn string) ([]Hold, error) {
	return sqldb.All(ctx, tx, scanHold, "SELECT "+holdColumns+" FROM budget_holds WHERE tenant = $1 AND turn_id = $2 ORDER BY step_key, "+
		"budget_id",
		tenant, turn)
}

var insertBudgetHolds = sqldb.Insert("budget_holds", holdColumns) + `
		ON CONFLICT (tenant, turn_id, step_key, budget_id) DO NOTHING`

// AddHold stores what a step holds. The budget must be locked. rows.ErrNotNew when the step holds something already: it is not new.
func (tx *Tx) AddHold(ctx context.Context, h Hold) error {
	n, err := sqldb.Exec(ctx, tx, insertBudgetHolds,
		h.Tenant, h.TurnID, h.Step, h.BudgetID, h.Tokens, h.Cost, h.Calls, h.Prompt, h.MaxOutput, h.Bound)
	if err == nil && n == 0 {
		return rows.ErrNotNew
	}
	return err
}

// DropHolds removes what a step holds; all steps of the turn when no step is named.
func (tx *Tx) DropHolds(ctx context.Context, tenant, turn, step string) error {
	_, err := sqldb.Exec(ctx, tx, "DELETE FROM budget_holds WHERE tenant = $1 AND turn_id = $2 AND ($3 = '' OR step_key = $3)", tenant, turn,
		step)
	return err
}

// ModelRatio reads what an agent's calls of a model have used of what they read and wrote, for each thousand tokens of their
// estimate; 0 when nothing is known.
func (tx *Tx) ModelRatio(ctx context.Context, tenant, agent, model string) (input, output int64, err error) {
	ratio, err := sqldb.One(ctx, tx, func(s sqldb.Scanner) (r [2]int64, err error) {
		err = s.Scan(&r[0], &r[1])
		return r, err
	}, "SELECT input, output FROM model_ratios WHERE tenant = $1 AND agent_id = $2 AND model = $3", tenant, agent, model)
	if errors.Is(err, sqldb.ErrNotFound) {
		err = nil
	}
	return ratio[0], ratio[1], err
}

var insertModelRatios = sqldb.Insert("model_ratios", "tenant, agent_id, model, input, output") + `
		ON CONFLICT (tenant, agent_id, model) DO UPDATE SET input = excluded.input, output = excluded.output`

// SaveModelRatio writes it. Budgets are locked before.
func (tx *Tx) SaveModelRatio(ctx context.Context, tenant, agent, model string, input, output int64) error {
	_, err := sqldb.Exec(ctx, tx, insertModelRatios, tenant, agent, model, input, output)
	return err
}

// PinnedSurface reads what the turn of a locked session pinned. ErrNotFound before its start.
func (tx *Tx) PinnedSurface(ctx context.Context, tenant, turn string) ([]byte, error) {
	return sqldb.One(ctx, tx, sqldb.Column[[]byte], "SELECT surface FROM turn_surfaces WHERE tenant = $1 AND turn_id = $2", tenant, turn)
}
