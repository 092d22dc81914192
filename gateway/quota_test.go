package gateway_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/quota"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// limiting gives everybody one request per minute; away fails.
type limiting struct {
	permissions
	away bool
}

func (l *limiting) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	if l.away {
		return authz.Verdict{}, errors.New("policy is away")
	}
	return authz.Verdict{Quota: &policyv1.EffectiveQuota{Tenant: &policyv1.QuotaLimits{RequestsPerMinute: 1}}}, nil
}

func TestS22RequestsAtTheGatewayAreCounted(t *testing.T) {
	with := func(a *limiting) *server {
		return serve(t, func(_ *gateway.Config, d *gateway.Deps) {
			d.Authorizer, d.Requests = a, quota.NewCounter(&rpctest.Leases{Max: 1}, slog.New(slog.DiscardHandler))
		})
	}
	s := with(&limiting{})
	if a := s.do("GET", "/v1/agents", ""); a.status == 429 {
		t.Errorf("the first request is refused: %s", a.body)
	}
	for _, path := range []string{"/v1/agents", "/v1/sessions/ses_1/events", "/v1/nothing"} {
		a := s.do("GET", path, "")
		wait, err := strconv.Atoi(a.header.Get("Retry-After"))
		if a.status != 429 || err != nil || wait < 1 || wait > 60 || !strings.Contains(string(a.body), `"code":"quota_exceeded"`) ||
			!strings.Contains(string(a.body), "the tenant's quota of 1 requests per minute is used up") {
			t.Errorf("%s: status %d, Retry-After %q: %s", path, a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	if a := s.do("GET", "/openapi.json", ""); a.status != 200 {
		t.Errorf("what is public: status %d", a.status)
	}
	if a := with(&limiting{away: true}).do("GET", "/v1/agents", ""); a.status == 429 {
		t.Errorf("without policy: %s", a.body)
	}
}
