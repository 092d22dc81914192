package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/timestamp"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// GetQuotaUsage implements QuotaService.
func (s *Server) GetQuotaUsage(ctx context.Context, req *policyv1.GetQuotaUsageRequest) (*policyv1.GetQuotaUsageResponse, error) {
	tenant, user := authn.Tenant(ctx), req.GetUser()
	if user == "" {
		user = authn.From(ctx).GetSubject()
	}
	if !valid(ofUser + user) {
		return nil, fault.Invalid("user", "must be a subject")
	}
	q, err := s.book.now(ctx, tenant, user)
	if err != nil {
		return nil, err
	}
	out := &policyv1.GetQuotaUsageResponse{Tenant: tenant, User: user}
	if q == nil {
		return out, nil
	}
	turns := &executionv1.GetQuotaUseResponse{}
	if s.turns != nil && (quota.Turns.AnyOf(q) || quota.Tokens.AnyOf(q)) {
		if turns, err = s.turns.GetQuotaUse(ctx, &executionv1.GetQuotaUseRequest{Tenant: tenant, Subject: user}); err != nil {
			return nil, fmt.Errorf("ask for the use by turns: %w", err)
		}
	}
	now := s.db.Now()
	for _, of := range []used{
		{quota.Tenant, "", q.GetTenant(), turns.GetTenant()}, {quota.User, user, q.GetUser(), turns.GetUser()},
	} {
		calls, err := s.calls(ctx, tenant, of.subject, now)
		if err != nil {
			return nil, fmt.Errorf("read the number of tool calls: %w", err)
		}
		requests, err := s.requests(ctx, tenant, of.subject, now)
		if err != nil {
			return nil, fmt.Errorf("read the number of requests: %w", err)
		}
		out.Uses = append(out.Uses, of.uses(requests, calls, now)...)
	}
	return out, nil
}

// used is what a tenant (subject "") or a user uses, and the limits on it.
type used struct {
	scope   quota.Scope
	subject string
	limits  *policyv1.QuotaLimits
	turns   *executionv1.QuotaTurns
}

// uses returns the use of each limit that is set.
func (u used) uses(requests, calls int64, now time.Time) (out []*policyv1.QuotaUse) {
	reset := timestamp.Of(quota.Excess{}.UntilReset(now).Reset)
	for _, use := range []*policyv1.QuotaUse{
		{Limit: string(quota.Requests), Used: requests, ResetTime: timestamp.Of(now.Truncate(time.Minute).Add(time.Minute))},
		{Limit: string(quota.Turns), Used: u.turns.GetTurns()},
		{Limit: string(quota.Tokens), Used: u.turns.GetTokens(), ResetTime: reset},
		{Limit: string(quota.ToolCalls), Used: calls, ResetTime: reset},
	} {
		use.Scope, use.Max = string(u.scope), quota.Limit(use.GetLimit()).Of(u.limits)
		if use.GetMax() > 0 {
			out = append(out, use)
		}
	}
	return out
}
