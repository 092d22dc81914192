// Package authz decides in a server whether a principal has a permission. It caches the policy service's answers for a short time, so that
// calls need no round trip and survive a restart of policy.
package authz

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Config bounds an Authorizer's cache. Zero values mean the defaults.
type Config struct {
	// MaxAge is how long an answer is fresh if policy does not say; 0 = 2 s.
	MaxAge time.Duration
	// MaxStale is how much longer an answer is used while policy is unavailable; 0 = 30 s.
	MaxStale time.Duration
	// Timeout bounds one request to policy; 0 = 3 s.
	Timeout time.Duration
	// Entries is the maximum number of cached principals; 0 = 4096.
	Entries int
}

// retryEvery is the retry interval per principal while policy is unavailable.
const retryEvery = 500 * time.Millisecond

// denialsInFlight limits concurrent RecordDenial calls; further ones are dropped.
const denialsInFlight = 16

// Authorizer implements rpc.Authorizer over a policy client. It is safe for concurrent use.
type Authorizer struct {
	cfg     Config
	client  policyv1.PolicyServiceClient
	entries *lru.Cache[string, entry]
	asking  singleflight.Group
	denials chan struct{}
	now     func() time.Time
	// forgotten counts the calls of Forget, and changes reports them.
	forgotten atomic.Uint64
	changes   Changes
}

// entry is a cached answer for one principal. Entries are replaced, never modified.
type entry struct {
	permissions Permissions
	quota       *policyv1.EffectiveQuota
	tenant      string
	fresh       time.Time // ask again after this
	stale       time.Time // unusable after this
}

// New returns an authorizer. The client must call as the server's own role.
func New(client policyv1.PolicyServiceClient, cfg Config) *Authorizer {
	cfg.MaxAge = orDefault(cfg.MaxAge, 2*time.Second)
	cfg.MaxStale = orDefault(cfg.MaxStale, 30*time.Second)
	cfg.Timeout = orDefault(cfg.Timeout, 3*time.Second)
	if cfg.Entries <= 0 {
		cfg.Entries = 4096
	}
	entries, err := lru.New[string, entry](cfg.Entries)
	if err != nil {
		panic(fmt.Sprintf("authz: a cache of %d entries: %v", cfg.Entries, err)) // only for a size below 1
	}
	return &Authorizer{cfg: cfg, client: client, entries: entries, denials: make(chan struct{}, denialsInFlight), now: time.Now}
}

func orDefault(d, def time.Duration) time.Duration {
	if d <= 0 {
		return def
	}
	return d
}

// Decide reports whether the principal holds the permission. It returns UNAVAILABLE if policy is unreachable and there is no usable cached
// answer, and ctx's error if ctx ends first.
func (a *Authorizer) Decide(ctx context.Context, p *policyv1.Principal, permission string) (Verdict, error) {
	key, err := keyOf(p)
	if err != nil {
		return Verdict{}, err
	}
	known, ok := a.entries.Get(key)
	if ok && a.now().Before(known.fresh) {
		return known.decide(permission), nil
	}
	found, err := a.ask(ctx, key, p)
	if err != nil {
		return Verdict{}, err
	}
	return found.decide(permission), nil
}

func (e entry) decide(permission string) Verdict {
	v := e.permissions.Decide(permission)
	v.Quota = e.quota
	return v
}

// ask joins the request in flight for this principal or starts one. The request does not end with one caller's context, since others wait
// for the same answer.
func (a *Authorizer) ask(ctx context.Context, key string, p *policyv1.Principal) (entry, error) {
	answer := a.asking.DoChan(key, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Timeout)
		defer cancel()
		return a.refresh(ctx, key, p)
	})
	select {
	case r := <-answer:
		if r.Err != nil {
			return entry{}, r.Err
		}
		found, ok := r.Val.(entry)
		if !ok {
			return entry{}, errors.New("authz: foreign value in the singleflight group")
		}
		return found, nil
	case <-ctx.Done():
		return entry{}, ctx.Err()
	}
}

func (a *Authorizer) refresh(ctx context.Context, key string, p *policyv1.Principal) (entry, error) {
	known, ok := a.entries.Get(key)
	if ok && a.now().Before(known.fresh) {
		return known, nil // another request was answered in the meantime
	}
	before := a.forgotten.Load()
	resp, err := a.client.GetPermissions(ctx, &policyv1.GetPermissionsRequest{Principal: p})
	now := a.now()
	if err != nil {
		if !ok || !now.Before(known.stale) {
			return entry{}, fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "policy cannot be asked now").Cause(err)
		}
		known.fresh = now.Add(retryEvery)
		a.entries.Add(key, known)
		return known, nil
	}
	age := cmp.Or(resp.GetMaxAge().AsDuration(), a.cfg.MaxAge)
	found := entry{
		permissions: Parse(resp.GetPermissions(), resp.GetDeniedBy()), quota: resp.GetQuota(), tenant: p.GetTenant(), fresh: now.Add(age),
	}
	found.stale = found.fresh.Add(a.cfg.MaxStale)
	if a.forgotten.Load() != before {
		found.fresh = now // the answer may be older than the change: use it for this call only
	}
	a.entries.Add(key, found)
	return found, nil
}

// Forget makes the next decision about each principal of a tenant ask policy again; an empty tenant means all. The old answers are still
// used if policy is unavailable.
func (a *Authorizer) Forget(tenant string) {
	a.forgotten.Add(1)
	for _, key := range a.entries.Keys() {
		if known, ok := a.entries.Peek(key); ok && (tenant == "" || known.tenant == tenant) {
			known.fresh = time.Time{}
			a.entries.Add(key, known)
		}
	}
	a.changes.Notify()
}

// Changed returns a channel that is closed at the next call of Forget.
func (a *Authorizer) Changed() <-chan struct{} { return a.changes.Next() }

// denialWait is how long a refusal waits for its record.
const denialWait = time.Second

// RecordDenied reports a denial to policy, and returns when it is on record, after a second, or when ctx ends. It drops the report if too
// many are in flight.
func (a *Authorizer) RecordDenied(ctx context.Context, p *policyv1.Principal, permission, method string) {
	select {
	case a.denials <- struct{}{}:
	default:
		return
	}
	waiting := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.Timeout)
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		defer func() { <-a.denials }()
		defer cancel()
		// The caller is refused either way; policy logs what it cannot store.
		_, _ = a.client.RecordDenial(ctx, &policyv1.RecordDenialRequest{Principal: p, Permission: permission, Method: method})
	}()
	late := time.NewTimer(denialWait)
	defer late.Stop()
	select {
	case <-recorded:
	case <-late.C:
	case <-waiting.Done():
	}
}

// keyOf returns a digest of everything in a principal that a policy can match.
func keyOf(p *policyv1.Principal) (string, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("encode principal: %w", err)
	}
	sum := sha256.Sum256(raw)
	return string(sum[:]), nil
}
