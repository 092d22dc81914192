// Package quota refuses what goes beyond the quotas of a tenant or a user. The policy service says which limits apply to a principal;
// the service that owns what is limited counts it, and refuses with Excess.Refuse.
package quota

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/windlass-dev/windlass/libs/metrics"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Limit is the name of a limit, as in the API.
type Limit string

// The limits.
const (
	Requests  Limit = "requests_per_minute"
	Turns     Limit = "concurrent_turns"
	Tokens    Limit = "tokens_per_day" //nolint:gosec // of models
	ToolCalls Limit = "tool_calls_per_day"
)

// Of returns the maximum that limits set, 0 for none.
func (l Limit) Of(limits *policyv1.QuotaLimits) int64 {
	switch l {
	case Requests:
		return limits.GetRequestsPerMinute()
	case Turns:
		return limits.GetConcurrentTurns()
	case Tokens:
		return limits.GetTokensPerDay()
	default:
		return limits.GetToolCallsPerDay()
	}
}

// AnyOf reports whether a quota sets the limit for the tenant or the user.
func (l Limit) AnyOf(q *policyv1.EffectiveQuota) bool {
	return q != nil && (l.Of(q.GetTenant()) > 0 || l.Of(q.GetUser()) > 0)
}

// Scope says whom a limit is for.
type Scope string

// The scopes.
const (
	Tenant Scope = "tenant"
	User   Scope = "user"
)

// Excess is what would go beyond a limit.
type Excess struct {
	Limit Limit
	Scope Scope
	// Tenant is whose it is.
	Tenant string
	// Max is the limit, Used what is used of it.
	Max, Used int64
	// Reset is when counting starts again; zero for limits that do not count per day.
	Reset time.Time
	// Retry is how long to wait before trying again.
	Retry time.Duration
}

// Refuse counts a refusal, and returns the error for the caller.
func (e Excess) Refuse(ctx context.Context) *fault.Error {
	refusals().Add(ctx, 1, metrics.QuotaRefusals.Labelled(e.Tenant, string(e.Limit), string(e.Scope)))
	f := fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED, "%s", e.Text()).RetryAfter(e.Retry).
		Hint("Wait, or ask an administrator for a higher quota.")
	f.Details = map[string]string{
		"limit": string(e.Limit), "scope": string(e.Scope), "max": strconv.FormatInt(e.Max, 10), "used": strconv.FormatInt(e.Used, 10),
	}
	if !e.Reset.IsZero() {
		f.Details["reset_time"] = e.Reset.UTC().Format(time.RFC3339)
	}
	return f
}

// Text says what is used up, and when there is more.
func (e Excess) Text() string {
	whose := "the tenant's quota"
	if e.Scope == User {
		whose = "the user's quota"
	}
	until := ""
	if !e.Reset.IsZero() {
		until = "; it starts again at " + e.Reset.UTC().Format("2006-01-02 15:04 MST")
	}
	switch e.Limit {
	case Requests:
		return fmt.Sprintf("%s of %d requests per minute is used up; the next request is possible in %s", whose, e.Max,
			max(e.Retry.Round(time.Second), time.Second))
	case Turns:
		return fmt.Sprintf("%s of %d concurrent turns is used up: %d have not ended", whose, e.Max, e.Used)
	case Tokens:
		return fmt.Sprintf("%s of %d tokens per day is used up: %d are used%s", whose, e.Max, e.Used, until)
	default:
		return fmt.Sprintf("%s of %d tool calls per day is used up: %d are made%s", whose, e.Max, e.Used, until)
	}
}

// refusals counts refused calls.
var refusals = sync.OnceValue(func() metric.Int64Counter { return metrics.Process().Counter(metrics.QuotaRefusals) })

// Day returns the beginning of the day (UTC) of a time.
func Day(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// UntilReset fills in when a limit per day starts again.
func (e Excess) UntilReset(now time.Time) Excess {
	e.Reset = Day(now).AddDate(0, 0, 1)
	e.Retry = e.Reset.Sub(now)
	return e
}

// Authorizer is the part of a server's authorizer that knows the quotas of principals.
type Authorizer interface {
	// Decide returns the limits that apply to the principal, whatever the permission.
	Decide(ctx context.Context, p *policyv1.Principal, permission string) (authz.Verdict, error)
}

// Reader returns the quotas of principals.
type Reader struct{ Authorizer Authorizer }

// Quota returns the limits that apply to a principal; nil for none. It returns UNAVAILABLE if policy is unreachable and there is no cached
// answer.
func (r Reader) Quota(ctx context.Context, p *policyv1.Principal) (*policyv1.EffectiveQuota, error) {
	if r.Authorizer == nil || p.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return nil, nil
	}
	v, err := r.Authorizer.Decide(ctx, p, "")
	if err != nil {
		return nil, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy cannot be asked now").Cause(err)
	}
	return v.Quota, nil
}
