package budgetdb

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// The scopes of quotas, which are kept as budgets with the period of a day. They are not listed among budgets.
const (
	ScopeTenantQuota BudgetScope = "tenant_quota"
	ScopeUserQuota   BudgetScope = "user_quota"
)

// Quota reports whether budgets of the scope are quotas.
func (s BudgetScope) Quota() bool { return s == ScopeTenantQuota || s == ScopeUserQuota }

// quotaID returns the ID of a quota. It sorts before those of budgets and turns, so that a transaction that locks quotas first locks all in
// the order of their IDs.
func quotaID(scope BudgetScope, subject string) string { return "0-" + ScopeKey(scope, subject) }

// LockQuota reads the quota of a tenant (subject "") or of a user, and keeps others from changing it until the transaction ends. It makes
// one if there is none. No budget may have been locked before.
func (tx *Tx) LockQuota(ctx context.Context, tenant string, scope BudgetScope, subject string) (Budget, error) {
	b := Budget{
		Tenant: tenant, ID: quotaID(scope, subject), Scope: scope, Target: subject, Period: PeriodDay, CreateTime: tx.Now(), UpdateTime: tx.Now(),
	}
	_, err := sqldb.Exec(ctx, tx, insertBudgets+" ON CONFLICT (tenant, id) DO NOTHING", b.columns()...)
	if err != nil {
		return b, err
	}
	return sqldb.One(ctx, tx, scanBudget, "SELECT "+budgetColumns+" FROM budgets WHERE tenant = $1 AND id = $2"+tx.DB.ForUpdate(),
		tenant, b.ID)
}

// Quota reads the quota of a tenant (subject "") or of a user; the zero value if no turn has counted towards it.
func (s *Reader) Quota(ctx context.Context, tenant string, scope BudgetScope, subject string) (Budget, error) {
	b, err := sqldb.One(ctx, s.DB.Reader(), scanBudget, "SELECT "+budgetColumns+" FROM budgets WHERE tenant = $1 AND id = $2", tenant,
		quotaID(scope, subject))
	if errors.Is(err, sqldb.ErrNotFound) {
		return Budget{}, nil
	}
	return b, err
}

const selectOpenTurns = "SELECT count(*) FROM turns WHERE tenant = $1 AND end_us = 0 AND agent_path = '' AND ($2 = '' OR subject = $2)"

// CountOpenTurns counts the turns of a tenant, or of one of its users, that have not ended. Those of sub-agents are not counted. With the
// quota locked, no other transaction that does so adds one.
func (tx *Tx) CountOpenTurns(ctx context.Context, tenant, subject string) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int64], selectOpenTurns, tenant, subject)
}

// CountOpenTurns counts the turns of a tenant, or of one of its users, that have not ended. Those of sub-agents are not counted.
func (s *Reader) CountOpenTurns(ctx context.Context, tenant, subject string) (int64, error) {
	return sqldb.One(ctx, s.DB.Reader(), sqldb.Column[int64], selectOpenTurns, tenant, subject)
}
