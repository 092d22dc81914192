package quota

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

func limits(perMinute int64) *policyv1.QuotaLimits {
	return &policyv1.QuotaLimits{RequestsPerMinute: perMinute}
}

type authorizer struct{ err error }

func (a authorizer) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{Quota: &policyv1.EffectiveQuota{User: limits(1)}}, a.err
}

func TestReader(t *testing.T) {
	for _, row := range []struct {
		name   string
		reader Reader
		as     *policyv1.Principal
		limits bool
		code   string
	}{
		{name: "a user", reader: Reader{authorizer{}}, as: authn.User("alice"), limits: true},
		{name: "a role", reader: Reader{authorizer{}}, as: authn.Service("worker")},
		{name: "nobody", reader: Reader{authorizer{}}},
		{name: "without policy", as: authn.User("alice")},
		{name: "policy away", reader: Reader{authorizer{errors.New("away")}}, as: authn.User("alice"), code: "unavailable"},
	} {
		q, err := row.reader.Quota(t.Context(), row.as)
		if (q != nil) != row.limits || fault.CodeOf(err) != row.code {
			t.Errorf("%s: %v, %v", row.name, q, err)
		}
	}
}

func TestTextsNameTheLimit(t *testing.T) {
	now := time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)
	for want, e := range map[string]Excess{
		"the user's quota of 5 requests per minute is used up; the next request is possible in 3s": {
			Limit: Requests, Scope: User, Max: 5, Used: 5, Retry: 3 * time.Second,
		},
		"the tenant's quota of 2 concurrent turns is used up: 2 have not ended": {Limit: Turns, Scope: Tenant, Max: 2, Used: 2},
		"the tenant's quota of 10 tokens per day is used up: 12 are used; it starts again at 2026-01-03 00:00 UTC": Excess{
			Limit: Tokens, Scope: Tenant, Max: 10, Used: 12,
		}.UntilReset(now),
		"the user's quota of 10 tool calls per day is used up: 10 are made; it starts again at 2026-01-03 00:00 UTC": Excess{
			Limit: ToolCalls, Scope: User, Max: 10, Used: 10,
		}.UntilReset(now),
	} {
		if got := e.Text(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if e := (Excess{}).UntilReset(now); e.Retry != time.Hour {
		t.Errorf("try again after %v", e.Retry)
	}
}
