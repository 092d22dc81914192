package quota

import (
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// bucketsKept limits the tenants and users whose requests are counted at a time. One that is forgotten starts with a full bucket.
const bucketsKept = 8192

// Counter counts the requests of tenants and users in this process, each with a token bucket that holds the requests of a minute. It is
// safe for concurrent use.
type Counter struct {
	buckets *lru.Cache[string, *rate.Limiter]
	now     func() time.Time
}

// NewCounter returns a counter.
func NewCounter() *Counter {
	buckets, err := lru.New[string, *rate.Limiter](bucketsKept)
	if err != nil {
		panic(fmt.Sprintf("quota: a cache of %d entries: %v", bucketsKept, err)) // only for a size below 1
	}
	return &Counter{buckets: buckets, now: time.Now}
}

// Take counts a request, or returns why it is refused. A request that is refused is not counted.
func (c *Counter) Take(ctx context.Context, p *policyv1.Principal, q *policyv1.EffectiveQuota) error {
	if c == nil || !Requests.AnyOf(q) {
		return nil
	}
	user, err := c.take(ctx, User, p.GetTenant(), p.GetSubject(), q.GetUser().GetRequestsPerMinute())
	if err != nil {
		return err
	}
	if _, err := c.take(ctx, Tenant, p.GetTenant(), "", q.GetTenant().GetRequestsPerMinute()); err != nil {
		if user != nil {
			user.CancelAt(c.now())
		}
		return err
	}
	return nil
}

// take takes one request from a bucket. It returns what gives it back, nil without a limit.
func (c *Counter) take(ctx context.Context, scope Scope, tenant, subject string, perMinute int64) (*rate.Reservation, error) {
	if perMinute <= 0 {
		return nil, nil
	}
	now, want, key := c.now(), rate.Limit(float64(perMinute)/60), tenant+"\x00"+subject
	bucket, ok := c.buckets.Get(key)
	if !ok {
		bucket = rate.NewLimiter(want, int(perMinute))
		if earlier, there, _ := c.buckets.PeekOrAdd(key, bucket); there {
			bucket = earlier
		}
	}
	if bucket.Burst() != int(perMinute) {
		bucket.SetLimitAt(now, want)
		bucket.SetBurstAt(now, int(perMinute))
	}
	r := bucket.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return nil, Excess{Limit: Requests, Scope: scope, Tenant: tenant, Max: perMinute, Used: perMinute, Retry: wait}.Refuse(ctx)
	}
	return r, nil
}
