package decide

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// recentDenials limits the denials remembered for merging.
const recentDenials = 4096

// Denials records refused RPCs without letting a caller fill the database: a repeated refusal within a second is the same decision, and all
// refusals together are rate limited.
type Denials struct {
	recorder *Recorder
	decider  *Decider
	limit    *rate.Limiter
	now      func() time.Time
	mu       sync.Mutex
	recent   *lru.Cache[denialKey, store.Decision]
}

type denialKey struct{ tenant, subject, permission, method string }

// NewDenials returns Denials; clock is that of the database.
func NewDenials(r *Recorder, d *Decider, limit *rate.Limiter, clock func() time.Time) (*Denials, error) {
	recent, err := lru.New[denialKey, store.Decision](recentDenials)
	if err != nil {
		return nil, fmt.Errorf("make cache of denials: %w", err)
	}
	return &Denials{recorder: r, decider: d, limit: limit, now: clock, recent: recent}, nil
}

// Record stores the refusal, or returns the one stored within the last second. RATE_LIMITED if there are too many.
func (d *Denials) Record(ctx context.Context, p *policyv1.Principal, permission, method string) (store.Decision, error) {
	began, at := time.Now(), d.now().UTC().Truncate(time.Microsecond)
	key := denialKey{p.GetTenant(), p.GetSubject(), permission, method}
	r, err := d.decider.Recent(ctx, p)
	if err != nil {
		return store.Decision{}, err
	}
	v := r.Permission(permission)
	if v.Allowed { // since the refusal
		v = Verdict{Reason: fmt.Sprintf("no rule gave permission %q to %q", permission, key.subject)}
	}
	made := store.Decision{
		Tenant: key.tenant, ID: ids.New(ids.Decision), Time: at, Subject: key.subject, Actor: Actor(ctx), Kind: store.Permission,
		Resource: permission, Method: method, Rule: v.Rule, Reason: v.Reason,
		PolicyRevision: r.Revision, Policies: strings.Join(v.Policies, ","), InputHash: r.Input.Hash,
		Latency: time.Since(began).Truncate(time.Microsecond),
	}
	d.mu.Lock()
	if last, ok := d.recent.Get(key); ok && at.Sub(last.Time) < time.Second {
		d.mu.Unlock()
		return last, nil
	}
	if !d.limit.AllowN(at, 1) {
		d.mu.Unlock()
		return store.Decision{}, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_RATE_LIMITED,
			"too many refusals to record them all").RetryAfter(time.Second)
	}
	d.recent.Add(key, made)
	d.mu.Unlock()
	if _, err := d.recorder.Add(ctx, made, r.Input, false); err != nil {
		d.mu.Lock()
		d.recent.Remove(key)
		d.mu.Unlock()
		return store.Decision{}, err
	}
	return made, nil
}
