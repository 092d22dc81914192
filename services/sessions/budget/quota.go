package budget

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/quota"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/budgetdb"
)

// retryTurns is when to try again a turn that was refused because too many run.
const retryTurns = 5 * time.Second

// quotaOf is the quota of a tenant (subject "") or of a user.
type quotaOf struct {
	scope   budgetdb.BudgetScope
	subject string
	limits  *policyv1.QuotaLimits
}

// quotasOf returns the quotas of a turn, in the order in which they are locked.
func quotasOf(t store.Turn, q *policyv1.EffectiveQuota) []quotaOf {
	return []quotaOf{{budgetdb.ScopeTenantQuota, "", q.GetTenant()}, {budgetdb.ScopeUserQuota, t.Subject, q.GetUser()}}
}

// AdmitTurn checks a new turn against the quotas of its tenant and its user, and has its tokens count towards them. It refuses the turn if
// too many others have not ended, but for a number of them that are ending, or if the tokens of the day are used up. No budget may be
// locked.
func AdmitTurn(tx *journal.Tx, t *store.Turn, q *policyv1.EffectiveQuota, ending int64) error {
	if !quota.Turns.AnyOf(q) && !quota.Tokens.AnyOf(q) {
		return nil
	}
	if err := countTokens(tx, t, q); err != nil {
		return err
	}
	for _, of := range quotasOf(*t, q) {
		most := quota.Turns.Of(of.limits)
		if most == 0 {
			continue
		}
		open, err := tx.CountOpenTurns(tx.Context(), t.Tenant, of.subject)
		if err != nil {
			return err
		}
		if open-ending >= most {
			return quota.Excess{
				Limit: quota.Turns, Scope: scopeOf(of.scope), Tenant: t.Tenant, Max: most, Used: open, Retry: retryTurns,
			}.Refuse(tx.Context())
		}
	}
	return nil
}

// countTokens locks the quotas of a new turn, and has its tokens count towards them if there is a limit on tokens. It refuses the turn if
// those of the day are used up.
func countTokens(tx *journal.Tx, t *store.Turn, q *policyv1.EffectiveQuota) error {
	t.Quota = quota.Tokens.AnyOf(q)
	for _, of := range quotasOf(*t, q) {
		b, err := tx.LockQuota(tx.Context(), t.Tenant, of.scope, of.subject)
		if err != nil {
			return err
		}
		was := b
		startPeriod(&b, tx.Now())
		b.Max, b.WarnAt = budgetdb.Amount{Tokens: quota.Tokens.Of(of.limits)}, DefaultWarnAt
		if b.Max.Tokens > 0 && b.Used.Tokens >= b.Max.Tokens {
			over := quota.Excess{Limit: quota.Tokens, Scope: scopeOf(b.Scope), Tenant: t.Tenant, Max: b.Max.Tokens, Used: b.Used.Tokens}
			return over.UntilReset(tx.Now()).Refuse(tx.Context())
		}
		if b != was {
			if err := tx.SaveBudget(tx.Context(), b); err != nil {
				return err
			}
		}
	}
	return nil
}

// scopeOf returns the scope of a quota as callers see it.
func scopeOf(s budgetdb.BudgetScope) quota.Scope {
	if s == budgetdb.ScopeUserQuota {
		return quota.User
	}
	return quota.Tenant
}

// QuotaUse is what the turns of a tenant or a user use of a quota.
type QuotaUse struct{ Turns, Tokens int64 }

// QuotaUse returns what turns of a tenant (subject "") or of a user use: turns that have not ended, and tokens of the day.
func (s *Service) QuotaUse(ctx context.Context, tenant, subject string) (QuotaUse, error) {
	scope := budgetdb.ScopeTenantQuota
	if subject != "" {
		scope = budgetdb.ScopeUserQuota
	}
	b, err := s.deps.Store.Quota(ctx, tenant, scope, subject)
	if err != nil {
		return QuotaUse{}, err
	}
	startPeriod(&b, s.deps.Store.Now())
	open, err := s.deps.Store.CountOpenTurns(ctx, tenant, subject)
	return QuotaUse{Turns: open, Tokens: b.Used.Tokens + b.Reserved.Tokens}, err
}
