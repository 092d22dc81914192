package quota

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// ledger leases the requests of a minute in parts of at most part. All methods are safe for concurrent use.
type ledger struct {
	mu         sync.Mutex
	part       int64
	user, all  int64 // the limits
	minute     time.Time
	leased     map[string]int64
	calls      int
	away       error
	answerTime time.Duration
}

func (l *ledger) LeaseRequests(_ context.Context, in *policyv1.LeaseRequestsRequest,
	_ ...grpc.CallOption,
) (*policyv1.LeaseRequestsResponse, error) {
	time.Sleep(l.answerTime)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.away != nil {
		return nil, l.away
	}
	now := time.Now()
	if m := now.Truncate(time.Minute); l.leased == nil || m.After(l.minute) {
		l.minute, l.leased = m, map[string]int64{}
	}
	most := l.all
	if in.GetUser() != "" {
		most = l.user
	}
	n := min(max(l.part, in.GetWaiting()), most-l.leased[in.GetUser()])
	l.leased[in.GetUser()] += n
	return &policyv1.LeaseRequestsResponse{Requests: n, ValidFor: durationpb.New(l.minute.Add(time.Minute).Sub(now))}, nil
}

func (l *ledger) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func counter(l Leaser) *Counter { return NewCounter(l, slog.New(slog.DiscardHandler)) }

func TestS22RequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counter(&ledger{part: 1, user: 3, all: 5})
		alice, bob := authn.User("alice"), authn.User("bob")
		q := &policyv1.EffectiveQuota{Tenant: limits(5), User: limits(3)}
		take := func(p *policyv1.Principal, want string) {
			t.Helper()
			err := c.Take(t.Context(), p, q)
			synctest.Wait()
			got := ""
			if f := fault.From(err); f != nil {
				got = f.Details["scope"]
				if fault.CodeOf(err) != "quota_exceeded" || f.Retry <= 0 || fault.HTTPStatus(f) != 429 || fault.Retryable(err) {
					t.Errorf("refused with %v, after %v", err, f.Retry)
				}
			}
			if got != want {
				t.Errorf("refused by the limit of the %q: %v, want %q", got, err, want)
			}
		}
		for range 3 {
			take(alice, "")
		}
		take(alice, "user")
		take(bob, "")
		take(bob, "")
		take(bob, "tenant") // the tenant's five are used up
		time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(time.Minute)))
		for range 3 {
			take(bob, "") // what was refused has not been counted
		}
		take(bob, "user")
		take(alice, "")
		q = nil
		take(bob, "")
	})
}

// TestS22ProcessesShareTheMinute sends requests to three processes as fast as it can.
func TestS22ProcessesShareTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1000
		l := &ledger{part: most / 16, user: most, answerTime: 3 * time.Millisecond}
		q := &policyv1.EffectiveQuota{User: limits(most)}
		for minute := range 2 {
			var admitted atomic.Int64
			var all sync.WaitGroup
			for range 3 {
				c := counter(l) // in the second minute: a restart
				for range 20 {
					all.Go(func() {
						for range 40 {
							if c.Take(t.Context(), authn.User("alice"), q) == nil {
								admitted.Add(1)
							}
							time.Sleep(time.Millisecond)
						}
					})
				}
			}
			all.Wait()
			if n := admitted.Load(); n > most || n < most/2 {
				t.Errorf("minute %d: %d admitted of %d", minute, n, most)
			}
			time.Sleep(time.Minute)
		}
		if l.calls > 200 {
			t.Errorf("%d calls to policy for 4800 requests", l.calls)
		}
	})
}

// TestALeaseIsRequestedBeforeTheLastIsUsedUp: only the first request of a minute waits.
func TestALeaseIsRequestedBeforeTheLastIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{part: 50, user: 2000, answerTime: 10 * time.Millisecond}
		c, q, waited := counter(l), &policyv1.EffectiveQuota{User: limits(2000)}, 0
		for range 500 {
			before := time.Now()
			if err := c.Take(t.Context(), authn.User("alice"), q); err != nil {
				t.Fatal(err)
			}
			if time.Since(before) > 0 {
				waited++
			}
			time.Sleep(time.Millisecond)
		}
		if waited != 1 {
			t.Errorf("%d requests waited", waited)
		}
	})
}

func TestARaisedLimitAppliesWithinTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{part: 1, user: 1}
		c, alice := counter(l), authn.User("alice")
		q := &policyv1.EffectiveQuota{User: limits(1)}
		for want, code := range []string{"", "quota_exceeded", "quota_exceeded"} {
			if err := c.Take(t.Context(), alice, q); fault.CodeOf(err) != code {
				t.Errorf("request %d: %v", want, err)
			}
			synctest.Wait()
		}
		asked := l.calls
		if asked > 2 {
			t.Errorf("policy was asked %d times", asked)
		}
		l.set(func() { l.user = 2 })
		q = &policyv1.EffectiveQuota{User: limits(2)}
		if err := c.Take(t.Context(), alice, q); err != nil {
			t.Error(err)
		}
	})
}

// TestWithoutPolicyProcessesCountByThemselves: neither nothing nor everything is admitted.
func TestWithoutPolicyProcessesCountByThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{part: 10, user: 600, away: errors.New("away")}
		c, alice, q := counter(l), authn.User("alice"), &policyv1.EffectiveQuota{User: limits(600)}
		admitted := 0
		for range 6000 { // a minute
			if c.Take(t.Context(), alice, q) == nil {
				admitted++
			}
			time.Sleep(10 * time.Millisecond)
		}
		if admitted < 500 || admitted > 610 {
			t.Errorf("%d admitted", admitted)
		}
		l.set(func() { l.away = nil })
		time.Sleep(time.Second)
		if err := c.Take(t.Context(), alice, q); err != nil || l.leased["alice"] == 0 {
			t.Errorf("policy is back: %v, %v leased", err, l.leased)
		}
	})
}

func TestACallerThatLeavesDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := counter(&ledger{part: 1, user: 5, answerTime: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		q := &policyv1.EffectiveQuota{User: limits(5)}
		if err := c.Take(ctx, authn.User("alice"), q); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if err := c.Take(t.Context(), authn.User("alice"), q); err != nil {
			t.Error(err)
		}
	})
}

func TestWithoutLimitsNothingIsKept(t *testing.T) {
	c := counter(nil)
	for _, q := range []*policyv1.EffectiveQuota{nil, {}, {Tenant: &policyv1.QuotaLimits{TokensPerDay: 1}}} {
		if err := c.Take(t.Context(), authn.User("alice"), q); err != nil || c.buckets.Len() != 0 {
			t.Errorf("%v: %v, %d buckets", q, err, c.buckets.Len())
		}
	}
	if err := (*Counter)(nil).Take(t.Context(), authn.User("alice"), &policyv1.EffectiveQuota{User: limits(1)}); err != nil {
		t.Error(err)
	}
}

func BenchmarkTakeWithoutLimits(b *testing.B) {
	c, alice := counter(nil), authn.User("alice")
	for b.Loop() {
		if err := c.Take(b.Context(), alice, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakeOfALease(b *testing.B) {
	c, alice := counter(&ledger{part: 1 << 40, user: 1 << 60, all: 1 << 60}), authn.User("alice")
	q := &policyv1.EffectiveQuota{User: limits(1 << 60), Tenant: limits(1 << 60)}
	for b.Loop() {
		if err := c.Take(b.Context(), alice, q); err != nil {
			b.Fatal(err)
		}
	}
}
