package quota_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/audit/trail"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// tables are those of the policy service.
var tables = testdb.New("policy", store.Migrate)

// replica is one process with the policy role.
type replica struct {
	*quota.Server
	book    *quota.Book
	db      *sqldb.DB
	changes atomic.Int32
}

// engines runs f on both engines. It can make further replicas on PostgreSQL; on SQLite there is one.
func engines(t *testing.T, f func(t *testing.T, next func(quota.Config) *replica)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		f(t, replicas(t, tables.SQLite(t), true))
	})
	t.Run("postgres", func(t *testing.T) { f(t, replicas(t, tables.Postgres(t), false)) })
}

func replicas(t *testing.T, url string, one bool) func(quota.Config) *replica {
	t.Helper()
	var shared *sqldb.DB
	return func(cfg quota.Config) *replica {
		db := shared
		if db == nil {
			var err error
			if db, err = sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "policy", MaxConns: 8}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			if one {
				shared = db
			}
		}
		book, err := quota.NewBook(cfg, db, store.New(db, trail.Of(db)))
		if err != nil {
			t.Fatal(err)
		}
		r := &replica{book: book, db: db}
		r.Server = quota.New(book, nil, store.New(db, trail.Of(db)).EventLog(), func(context.Context, string) { r.changes.Add(1) })
		return r
	}
}

func as(t *testing.T, subject string) context.Context {
	t.Helper()
	return authn.With(t.Context(), authn.User(subject, "admin"))
}

func (r *replica) call(ctx context.Context, user, key string) error {
	_, err := r.CountToolCall(ctx, &policyv1.CountToolCallRequest{Tenant: "default", User: user, Key: key})
	return err
}

// used returns what is used of a limit.
func (r *replica) used(t *testing.T, user, scope, limit string) int64 {
	t.Helper()
	usage, err := r.GetQuotaUsage(as(t, "root"), &policyv1.GetQuotaUsageRequest{User: user})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range usage.GetUses() {
		if u.GetScope() == scope && u.GetLimit() == limit {
			return u.GetUsed()
		}
	}
	t.Errorf("no %s of the %s in %v", limit, scope, usage)
	return -1
}

func TestS22ToolCallsAreExactOverReplicas(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		const most = 7
		cfg := quota.Config{User: quota.Limits{ToolCalls: most}}
		rs := []*replica{next(cfg), next(cfg)}
		var allowed atomic.Int32
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				switch err := rs[i%2].call(t.Context(), "alice", fmt.Sprint(i)); {
				case err == nil:
					allowed.Add(1)
				case fault.CodeOf(err) != "quota_exceeded":
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := allowed.Load(); n != most {
			t.Errorf("%d calls were allowed, not %d", n, most)
		}
		err := rs[0].call(t.Context(), "alice", "one more")
		f := fault.From(err)
		if f == nil || f.Retry <= 0 || f.Details["limit"] != "tool_calls_per_day" || f.Details["scope"] != "user" || f.Details["max"] != "7" ||
			f.Details["used"] != "7" || f.Details["reset_time"] == "" {
			t.Errorf("refused with %v, %+v", err, f)
		}
		if err := rs[1].call(t.Context(), "bob", "one more"); err != nil {
			t.Errorf("another user: %v", err)
		}
		if n := rs[1].used(t, "alice", "user", "tool_calls_per_day"); n != most {
			t.Errorf("%d calls are counted", n)
		}
	})
}

func TestS22ACallCountsOnceHoweverOftenItIsTried(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		cfg := quota.Config{Tenant: quota.Limits{ToolCalls: 2}}
		rs := []*replica{next(cfg), next(cfg)}
		var all sync.WaitGroup
		for i := range 12 { // a worker that is killed, and those that take over
			all.Go(func() {
				if err := rs[i%2].call(t.Context(), "alice", "trn_1/tool-1.0"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := rs[0].used(t, "alice", "tenant", "tool_calls_per_day"); n != 1 {
			t.Errorf("one call counts as %d", n)
		}
		if err := rs[0].call(t.Context(), "bob", "trn_2/tool-1.0"); err != nil {
			t.Error(err)
		}
		if err := rs[1].call(t.Context(), "alice", "trn_1/tool-1.0"); err != nil {
			t.Errorf("a call that was counted is refused: %v", err)
		}
		if err := rs[1].call(t.Context(), "alice", "trn_1/tool-1.1"); fault.CodeOf(err) != "quota_exceeded" {
			t.Errorf("a third call of the tenant: %v", err)
		}
		// A call that is refused leaves nothing behind: it can be made on the next day, which counts from 0.
		err := rs[0].db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := sqldb.Exec(t.Context(), tx, "UPDATE tool_call_counts SET day_us = day_us - $1", int64(86_400_000_000))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := rs[1].call(t.Context(), "alice", "trn_1/tool-1.1"); err != nil {
			t.Errorf("on the next day: %v", err)
		}
		if n := rs[0].used(t, "alice", "tenant", "tool_calls_per_day"); n != 1 {
			t.Errorf("on the next day, one call counts as %d", n)
		}
	})
}

// TestS22RequestsAreExactOverReplicas leases until nothing is left, from two replicas at once and after a restart.
func TestS22RequestsAreExactOverReplicas(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		const most = 500
		cfg := quota.Config{User: quota.Limits{Requests: most}}
		var mu sync.Mutex
		leased := map[time.Time]int64{} // by the end of the minute
		lease := func(r *replica, waiting int64) int64 {
			resp, err := r.LeaseRequests(t.Context(), &policyv1.LeaseRequestsRequest{Tenant: "default", User: "alice", Waiting: waiting})
			if err != nil {
				t.Error(err)
				return 0
			}
			if d := resp.GetValidFor().AsDuration(); d <= 0 || d > time.Minute {
				t.Errorf("a lease for %v", d)
			}
			mu.Lock()
			defer mu.Unlock()
			leased[r.db.Now().Add(resp.GetValidFor().AsDuration()).Round(time.Minute)] += resp.GetRequests()
			return resp.GetRequests()
		}
		rs := []*replica{next(cfg), next(cfg)}
		var all sync.WaitGroup
		for _, r := range rs {
			for range 4 {
				all.Go(func() {
					for lease(r, 1) > 0 {
						continue
					}
				})
			}
		}
		all.Wait()
		again := next(cfg)
		lease(again, 100)
		for minute, n := range leased {
			if n > most {
				t.Errorf("%d requests leased in the minute until %v", n, minute)
			}
		}
		if len(leased) == 1 { // no minute has begun in between
			if n := again.used(t, "alice", "user", "requests_per_minute"); leased[onlyMinute(leased)] != most || n != most && n != 0 {
				t.Errorf("leased %v, %d are used", leased, n)
			}
		}
	})
}

func onlyMinute(m map[time.Time]int64) (minute time.Time) {
	for minute = range m {
		break
	}
	return minute
}

// TestLeasesBecomeSmaller: what one process does not use is little when there is little left, but what waits gets what there is.
func TestLeasesBecomeSmaller(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		r := next(quota.Config{Tenant: quota.Limits{Requests: 160}})
		lease := func(user string, waiting, want int64) {
			t.Helper()
			resp, err := r.LeaseRequests(t.Context(), &policyv1.LeaseRequestsRequest{Tenant: "default", User: user, Waiting: waiting})
			if err != nil || resp.GetRequests() != want {
				t.Errorf("leased %d, want %d: %v", resp.GetRequests(), want, err)
			}
		}
		if left := time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)); left < 5*time.Second {
			t.Skip("the minute ends")
		}
		lease("", 0, 10)
		lease("", 1, 10)
		lease("", 138, 138)
		lease("", 1, 1)
		lease("", 5, 1)
		lease("", 1, 0)
		lease("alice", 3, 3) // a limit that has been removed
		err := r.db.Write(t.Context(), func(tx sqldb.Tx) error {
			return sqldb.ExecOne(t.Context(), tx, "UPDATE request_leases SET minute_us = minute_us - $1", int64(60_000_000))
		})
		if err != nil {
			t.Fatal(err)
		}
		lease("", 1, 10)
	})
}

func TestQuotasAreSetReadAndDeleted(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		r, root := next(quota.Config{}), as(t, "root")
		set := func(id string, calls, tokens *int64) *policyv1.Quota {
			t.Helper()
			q, err := r.SetQuota(root, &policyv1.SetQuotaRequest{QuotaId: id, ToolCallsPerDay: calls, TokensPerDay: tokens})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		set("users", proto.Int64(10), nil)
		if q := set("users", nil, proto.Int64(20)); q.GetToolCallsPerDay() != 10 || q.GetTokensPerDay() != 20 {
			t.Errorf("a limit that was left out has changed: %v", q)
		}
		set("user:dev:alice", proto.Int64(30), nil)
		if n := r.changes.Load(); n != 3 {
			t.Errorf("%d changes were announced", n)
		}
		list, err := r.ListQuotas(root, &policyv1.ListQuotasRequest{PageSize: 1})
		if err != nil || len(list.GetQuotas()) != 1 || list.GetNextPageToken() == "" {
			t.Errorf("list: %v, %v", list, err)
		}
		other := authn.User("eve")
		other.Tenant = "other"
		if _, err := r.GetQuota(authn.With(t.Context(), other), &policyv1.GetQuotaRequest{QuotaId: "users"}); fault.CodeOf(err) != "not_found" {
			t.Errorf("another tenant: %v", err)
		}
		for _, id := range []string{"nobody", "user:", "user:a\x00b"} {
			if _, err := r.SetQuota(root, &policyv1.SetQuotaRequest{QuotaId: id}); fault.CodeOf(err) != "invalid_argument" {
				t.Errorf("set %q: %v", id, err)
			}
			if _, err := r.DeleteQuota(root, &policyv1.DeleteQuotaRequest{QuotaId: id}); fault.CodeOf(err) != "not_found" {
				t.Errorf("delete %q: %v", id, err)
			}
		}
		for want, code := range []string{"", "not_found"} {
			if _, err := r.DeleteQuota(root, &policyv1.DeleteQuotaRequest{QuotaId: "users"}); fault.CodeOf(err) != code {
				t.Errorf("delete %d: %v", want, err)
			}
		}
	})
}

func TestS22TheLowerLimitApplies(t *testing.T) {
	engines(t, func(t *testing.T, next func(quota.Config) *replica) {
		r := next(quota.Config{
			Tenant: quota.Limits{Turns: 100, Tokens: 1000}, User: quota.Limits{Turns: 10},
			Tenants: []quota.TenantLimits{{Name: "vip", Tenant: quota.Limits{Turns: 5000}}},
		})
		of := func(tenant, user string) string {
			t.Helper()
			revision, err := store.New(r.db, trail.Of(r.db)).Revision(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			q, err := r.book.Of(t.Context(), tenant, user, revision)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(q.GetTenant().GetConcurrentTurns(), q.GetTenant().GetTokensPerDay(), q.GetUser().GetConcurrentTurns())
		}
		want := func(tenant, user, limits string) {
			t.Helper()
			if got := of(tenant, user); got != limits {
				t.Errorf("%s of %s: %s, want %s", user, tenant, got, limits)
			}
		}
		want("default", "alice", "100 1000 10")
		want("vip", "alice", "5000 0 0")
		for id, turns := range map[string]int64{"tenant": 50, "users": 4, "user:alice": 500} {
			if _, err := r.SetQuota(as(t, "root"), &policyv1.SetQuotaRequest{QuotaId: id, ConcurrentTurns: &turns}); err != nil {
				t.Fatal(err)
			}
		}
		want("default", "alice", "50 1000 10") // her own quota replaces that of users, the operator's stays
		want("default", "bob", "50 1000 4")
		want("vip", "alice", "5000 0 0")
	})
}

func TestBadQuotasInTheConfiguration(t *testing.T) {
	for _, cfg := range []quota.Config{
		{Tenant: quota.Limits{Turns: -1}},
		{Tenants: []quota.TenantLimits{{Name: "a b"}}},
		{Tenants: []quota.TenantLimits{{Name: "a"}, {Name: "a"}}},
		{Tenants: []quota.TenantLimits{{Name: "a", User: quota.Limits{Tokens: -1}}}},
	} {
		if _, err := quota.NewBook(cfg, nil, nil); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}
