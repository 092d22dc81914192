package sessions_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// quotas is an authorizer that gives everybody the same limits.
type quotas struct {
	of atomic.Pointer[policyv1.EffectiveQuota]
}

func (q *quotas) Decide(context.Context, *policyv1.Principal, string) (authz.Verdict, error) {
	return authz.Verdict{Quota: q.of.Load()}, nil
}

func limited(q *policyv1.EffectiveQuota) *quotas {
	out := &quotas{}
	out.of.Store(q)
	return out
}

// wantExcess checks that an error says which limit is exceeded and when to try again.
func wantExcess(t *testing.T, err error, limit, scope, most, used string) {
	t.Helper()
	f := fault.From(err)
	if fault.CodeOf(err) != "quota_exceeded" || f.Retry <= 0 || f.Details["limit"] != limit || f.Details["scope"] != scope ||
		f.Details["max"] != most || f.Details["used"] != used {
		t.Errorf("refused with %v (%v, after %v), want %s of the %s, %s of %s used", err, f.Details, f.Retry, limit, scope, used, most)
	}
}

func (k *kit) tryTurn(session string) (*sessionsv1.Turn, error) {
	return k.turns.CreateTurn(k.t.Context(), &sessionsv1.CreateTurnRequest{SessionId: session, Input: "hello"})
}

// use returns what turns of the user local use.
func (k *kit) use() *executionv1.GetQuotaUseResponse {
	k.t.Helper()
	use, err := k.exec.GetQuotaUse(k.t.Context(), &executionv1.GetQuotaUseRequest{Tenant: "default", Subject: "local"})
	must(k.t, err)
	return use
}

func TestS22ConcurrentTurnsAreExactOverReplicas(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		const most = 3
		q := limited(&policyv1.EffectiveQuota{Tenant: &policyv1.QuotaLimits{ConcurrentTurns: most}})
		o := options{postgres: postgres, conns: 8, quotas: q}
		var url string
		if postgres {
			url = tables.Postgres(t)
			o.db = openURL(t, url, 8)
		}
		k := newKit(t, o)
		replicas := []*kit{k, k}
		if postgres {
			o.db, o.bus = openURL(t, url, 8), k.bus
			replicas[1] = newKit(t, o)
		}
		k.agent("assistant")
		var accepted atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			session := k.session().GetId()
			all.Go(func() {
				_, err := replicas[i%2].tryTurn(session)
				if err == nil {
					accepted.Add(1)
					return
				}
				wantExcess(t, err, "concurrent_turns", "tenant", fmt.Sprint(most), fmt.Sprint(most))
			})
		}
		all.Wait()
		if n := accepted.Load(); n != most {
			t.Errorf("%d turns were accepted, %d are allowed", n, most)
		}
	})
}

func TestS22ATurnThatEndsMakesRoom(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		q := limited(&policyv1.EffectiveQuota{User: &policyv1.QuotaLimits{ConcurrentTurns: 1}})
		k := newKit(t, options{postgres: postgres, quotas: q})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 10})
		other := k.session().GetId()
		_, err := k.tryTurn(other)
		wantExcess(t, err, "concurrent_turns", "user", "1", "1")
		// The turn that an interrupt ends makes room for the one that interrupts it.
		interrupting, err := k.turns.CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
			SessionId: w.turn.GetSessionId(), Input: "stop", Mode: "interrupt",
		})
		must(t, err)
		if n := k.use().GetUser().GetTurns(); n != 2 {
			t.Errorf("%d turns are counted", n)
		}
		w.finish(turnv1.TurnStatus_TURN_STATUS_CANCELLED, "cancelled")
		// Other users have a limit of their own.
		if _, err := k.as(authn.User("bob", "admin")).CreateTurn(t.Context(), &sessionsv1.CreateTurnRequest{
			SessionId: other, Input: "hello",
		}); fault.CodeOf(err) == "quota_exceeded" {
			t.Errorf("bob is refused for turns of local: %v", err)
		}
		w = k.worker(interrupting)
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 10})
		w.finish(completed, "end")
		_, err = k.tryTurn(other)
		must(t, err)
		// Without limits nothing is counted.
		q.of.Store(nil)
		_, err = k.tryTurn(k.session().GetId())
		must(t, err)
	})
}

func TestS22TokensPerDay(t *testing.T) {
	engines(t, func(t *testing.T, postgres bool) {
		q := limited(&policyv1.EffectiveQuota{
			Tenant: &policyv1.QuotaLimits{TokensPerDay: 100_000}, User: &policyv1.QuotaLimits{TokensPerDay: 1000},
		})
		k := newKit(t, options{postgres: postgres, quotas: q})
		w := k.worker(k.newTurn("hello"))
		w.beginWith(&turnv1.Surface{MaxOutputTokens: 300})
		l := w.lease("infer-1")
		if use := k.use(); use.GetUser().GetTokens() < 300 || use.GetTenant().GetTokens() != use.GetUser().GetTokens() {
			t.Errorf("reserved: %v", use)
		}
		// A worker that takes over the step does not reserve again, and a commit that is repeated does not count again.
		_, err := k.exec.RenewStep(t.Context(), &executionv1.RenewStepRequest{
			TurnId: w.turn.GetId(), Step: "infer-1", Fence: l.GetFence(), Ttl: durationpb.New(100 * time.Millisecond),
		})
		must(t, err)
		reserved := k.use().GetUser().GetTokens()
		other := k.worker(w.turn)
		other.owner = "w2"
		l = other.leaseSoon("infer-1")
		if now := k.use().GetUser().GetTokens(); now != reserved {
			t.Errorf("%d tokens are reserved by the second attempt, %d by the first", now, reserved)
		}
		other.used("infer-1", l, 700, 290, nil)
		if now := k.use(); now.GetUser().GetTokens() != 990 || now.GetTenant().GetTokens() != 990 {
			t.Errorf("settled: %v", now)
		}
		// The next step does not fit, and ends the turn with a reason that its reader sees.
		if use := other.exhausted("infer-2"); use.GetScope() != "user_quota" || use.GetBudgetId() != "" || use.GetLimit() != 1000 {
			t.Errorf("exhausted: %v", use)
		}
		// Quotas are no budgets.
		budgets, err := k.budgets().ListBudgets(t.Context(), &sessionsv1.ListBudgetsRequest{})
		must(t, err)
		if len(budgets.GetBudgets()) != 0 {
			t.Errorf("budgets: %v", budgets)
		}
		// A limit that is reached refuses new turns until it is raised.
		q.of.Store(&policyv1.EffectiveQuota{User: &policyv1.QuotaLimits{TokensPerDay: 990}})
		session := k.session().GetId()
		_, err = k.tryTurn(session)
		wantExcess(t, err, "tokens_per_day", "user", "990", "990")
		q.of.Store(&policyv1.EffectiveQuota{User: &policyv1.QuotaLimits{TokensPerDay: 5000}})
		_, err = k.tryTurn(session)
		must(t, err)
		// The next day counts from 0.
		must(t, k.db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "UPDATE budgets SET period_us = period_us - $1 WHERE period = 'day'", int64(86_400_000_000))
			return err
		}))
		if now := k.use().GetUser().GetTokens(); now != 0 {
			t.Errorf("%d tokens are counted on the next day", now)
		}
	})
}
