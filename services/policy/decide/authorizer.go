package decide

import (
	"context"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/authz"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// recordTimeout bounds the recording of one denial.
const recordTimeout = 3 * time.Second

// Authorizer implements rpc.Authorizer for the policy role itself, with its own rules and policies and without a network.
type Authorizer struct {
	decider *Decider
	denials *Denials
	log     *slog.Logger
	slots   chan struct{}
	changes authz.Changes
}

// NewAuthorizer returns an Authorizer.
func NewAuthorizer(decider *Decider, denials *Denials, log *slog.Logger) *Authorizer {
	return &Authorizer{decider: decider, denials: denials, log: log, slots: make(chan struct{}, 8)}
}

// Decide reports whether rules and access policies grant the permission. A change of policies applies at once in this process, and within
// permissions_max_age if another process made it. UNAVAILABLE if the database cannot be read.
func (a *Authorizer) Decide(ctx context.Context, p *policyv1.Principal, permission string) (authz.Verdict, error) {
	r, err := a.decider.Recent(ctx, p)
	if err != nil {
		return authz.Verdict{}, err
	}
	v := r.verdict(permission)
	if v.Quota, err = a.decider.Quota(ctx, r); err != nil {
		return authz.Verdict{}, err
	}
	return v, nil
}

// Forget makes the next decision about a tenant read its policies again; an empty tenant means all.
func (a *Authorizer) Forget(tenant string) {
	a.decider.sets.forget(tenant)
	a.changes.Notify()
}

// Changed returns a channel that is closed at the next call of Forget.
func (a *Authorizer) Changed() <-chan struct{} { return a.changes.Next() }

// RecordDenied records a denial, and returns when that is committed or ctx ends; it drops the denial if too many are in flight.
func (a *Authorizer) RecordDenied(ctx context.Context, p *policyv1.Principal, permission, method string) {
	select {
	case a.slots <- struct{}{}:
	default:
		return
	}
	waiting := ctx
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		defer func() { <-a.slots }()
		defer cancel()
		if _, err := a.denials.Record(ctx, p, permission, method); err != nil {
			a.log.WarnContext(ctx, "refusal not recorded", "permission", permission, "method", method, "error", err)
		}
	}()
	select {
	case <-recorded:
	case <-waiting.Done():
	}
}
