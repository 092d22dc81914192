package quota

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

const (
	// bucketsKept limits the tenants and users whose requests are counted at a time. What is left of a lease that is forgotten is lost.
	bucketsKept = 8192
	// leaseTimeout bounds one call for a lease.
	leaseTimeout = 2 * time.Second
	// sameMinute is how much the ends of leases of the same minute differ at most: by the time that calls to policy take.
	sameMinute = time.Minute / 2
)

// Leaser hands out requests of the present minute, see QuotaService.LeaseRequests.
type Leaser interface {
	// LeaseRequests returns how many requests this process may admit, and for how long.
	LeaseRequests(ctx context.Context, in *policyv1.LeaseRequestsRequest, opts ...grpc.CallOption) (*policyv1.LeaseRequestsResponse, error)
}

// Counter counts the requests of tenants and users that this process admits. It leases them from policy in parts, so that the limits hold
// for all processes together, and asks for the next part before the present one is used up. It is safe for concurrent use.
type Counter struct {
	leaser  Leaser
	log     *slog.Logger
	buckets *lru.Cache[string, *bucket]
	now     func() time.Time
}

// NewCounter returns a counter of requests that are leased from policy.
func NewCounter(leaser Leaser, log *slog.Logger) *Counter {
	buckets, err := lru.New[string, *bucket](bucketsKept)
	if err != nil {
		panic(fmt.Sprintf("quota: a cache of %d entries: %v", bucketsKept, err)) // only for a size below 1
	}
	return &Counter{leaser: leaser, log: log, buckets: buckets, now: time.Now}
}

// Take counts a request, or returns why it is refused. A request that is refused is not counted. It waits for policy only if this process
// has no request left: at the first request of a minute, and when requests arrive faster than they are leased. Anonymous callers count
// together as one user, and not towards their tenant.
func (c *Counter) Take(ctx context.Context, p *policyv1.Principal, q *policyv1.EffectiveQuota) error {
	if c == nil || !Requests.AnyOf(q) {
		return nil
	}
	user, err := c.take(ctx, User, p.GetTenant(), p.GetSubject(), q.GetUser().GetRequestsPerMinute())
	if err != nil {
		return err
	}
	if authn.IsAnonymous(p) { // strangers do not use up what the users of a tenant have
		return nil
	}
	if _, err := c.take(ctx, Tenant, p.GetTenant(), "", q.GetTenant().GetRequestsPerMinute()); err != nil {
		user.giveBack()
		return err
	}
	return nil
}

// taken is a request that was taken from a bucket, nil without a limit, in the minute that ends at until.
type taken struct {
	*bucket

	until time.Time
}

// take takes one request of a limit.
func (c *Counter) take(ctx context.Context, scope Scope, tenant, subject string, perMinute int64) (taken, error) {
	if perMinute <= 0 {
		return taken{}, nil
	}
	key := tenant + "\x00" + subject
	b, ok := c.buckets.Get(key)
	if !ok {
		b = &bucket{tenant: tenant, subject: subject}
		if earlier, there, _ := c.buckets.PeekOrAdd(key, b); there {
			b = earlier
		}
	}
	for {
		took, until, leased := b.take(c, perMinute)
		switch {
		case took:
			return taken{b, until}, nil
		case leased == nil:
			return taken{}, Excess{
				Limit: Requests, Scope: scope, Tenant: tenant, Max: perMinute, Used: perMinute, Reset: until, Retry: until.Sub(c.now()),
			}.Refuse(ctx)
		}
		b.wait(ctx, leased)
		if ctx.Err() != nil {
			return taken{}, ctx.Err()
		}
	}
}

// bucket holds the requests of a tenant or a user that this process has leased.
type bucket struct {
	tenant, subject string

	mu sync.Mutex
	// left may be admitted until the time until; low is how many are left when the next lease is requested.
	left, low int64
	until     time.Time
	// max is the limit when policy leased nothing: until then nothing is admitted, unless the limit has changed. 0 = policy has some.
	max int64
	// waiting is the number of requests that wait for the lease that is being requested; leased is closed when it has come.
	waiting int64
	leased  chan struct{}
}

// take takes a request, and returns until when it counts. Otherwise it returns the lease to wait for, or nil and until when nothing is
// admitted.
func (b *bucket) take(c *Counter, perMinute int64) (took bool, until time.Time, leased <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := c.now()
	if !now.Before(b.until) {
		b.left, b.low, b.max = 0, 0, 0
	}
	switch {
	case b.left > 0:
		b.left--
		if b.left < b.low && b.max == 0 {
			b.request(c, perMinute)
		}
		return true, b.until, nil
	case b.max == perMinute:
		return false, b.until, nil
	default:
		b.waiting++
		b.request(c, perMinute)
		return false, time.Time{}, b.leased
	}
}

// wait waits for a lease.
func (b *bucket) wait(ctx context.Context, leased <-chan struct{}) {
	select {
	case <-leased:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting--
}

// giveBack gives back a request that is not admitted, unless its minute is over.
func (t taken) giveBack() {
	if t.bucket == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bucket.until.Sub(t.until).Abs() < sameMinute {
		t.left++
	}
}

// request requests a lease in the background, unless one is being requested. The caller holds the lock.
func (b *bucket) request(c *Counter, perMinute int64) {
	if b.leased != nil {
		return
	}
	b.leased = make(chan struct{})
	req := &policyv1.LeaseRequestsRequest{Tenant: b.tenant, User: b.subject, Waiting: b.waiting}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaseTimeout)
		defer cancel()
		asked := c.now()
		lease, err := c.leaser.LeaseRequests(ctx, req)
		if err != nil {
			c.log.WarnContext(ctx, "no requests leased; this process counts by itself", "tenant", b.tenant, "error", err)
			lease = nil
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.add(lease, asked, c.now(), perMinute)
		close(b.leased)
		b.leased = nil
	}()
}

// add adds a lease, nil if policy was unreachable. It counts from when it was requested, so that it ends before the minute does.
func (b *bucket) add(lease *policyv1.LeaseRequestsResponse, asked, now time.Time, perMinute int64) {
	if lease == nil {
		b.low = 0
		if b.left == 0 || !now.Before(b.until) {
			// Without policy each process admits the limit by itself, in parts of a second or more.
			b.left, b.max = (perMinute+59)/60, perMinute
			b.until = now.Add(time.Duration(b.left) * time.Minute / time.Duration(perMinute))
		}
		return
	}
	until := asked.Add(lease.GetValidFor().AsDuration())
	if until.Sub(b.until).Abs() >= sameMinute {
		b.left = 0
	}
	b.left += lease.GetRequests()
	b.low, b.max, b.until = b.left/2, 0, until
	if lease.GetRequests() == 0 {
		b.max = perMinute
	}
}
