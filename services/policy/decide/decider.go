package decide

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/eventlog"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/quota"
	"github.com/windlass-dev/windlass/services/policy/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Deps holds the dependencies of a Decider; all but Bus are required.
type Deps struct {
	// Engine has the rules of the configuration.
	Engine *Engine
	// Policies reads the access policies.
	Policies policyReader
	// Quotas has the limits of principals.
	Quotas *quota.Book
	// Bus announces changes; nil = only this process learns of them at once.
	Bus eventlog.Publisher
	// Log receives what cannot be announced.
	Log *slog.Logger
}

// Decider combines the rules of the configuration with the access policies of the tenant. It is safe for concurrent use.
type Decider struct {
	engine *Engine
	sets   *sets
	quotas *quota.Book
	maxAge time.Duration
	bus    eventlog.Publisher
	log    *slog.Logger
}

// NewDecider returns a Decider; maxAge is how old policies may be for Recent.
func NewDecider(maxAge time.Duration, deps Deps) (*Decider, error) {
	if deps.Engine == nil || deps.Policies == nil || deps.Quotas == nil || deps.Log == nil {
		return nil, errors.New("a decider needs Engine, Policies, Quotas and Log")
	}
	sets, err := newSets(deps.Policies)
	if err != nil {
		return nil, err
	}
	return &Decider{engine: deps.Engine, sets: sets, quotas: deps.Quotas, maxAge: maxAge, bus: deps.Bus, log: deps.Log}, nil
}

// Now returns a principal's rights with all policies that were committed before the call.
func (d *Decider) Now(ctx context.Context, p *policyv1.Principal) (Rights, error) {
	return d.rightsFrom(p, func() (*access.Set, error) { return d.sets.current(ctx, p.GetTenant()) })
}

// Recent returns a principal's rights with policies that another process may have changed within the last maxAge.
func (d *Decider) Recent(ctx context.Context, p *policyv1.Principal) (Rights, error) {
	return d.rightsFrom(p, func() (*access.Set, error) { return d.sets.recent(ctx, p.GetTenant(), d.maxAge) })
}

// rightsFrom returns a principal's rights with the given policies, which are not asked for if they cannot apply.
func (d *Decider) rightsFrom(p *policyv1.Principal, policies func() (*access.Set, error)) (Rights, error) {
	if p.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return Rights{engine: d.engine, Input: access.Input{Principal: p}, applied: &access.Applied{}}, nil
	}
	set, err := policies()
	if err != nil {
		return Rights{}, err
	}
	in, err := access.NewInput(p)
	if err != nil {
		return Rights{}, err
	}
	return d.With(set, in), nil
}

// With returns the rights of a principal with a set of policies.
func (d *Decider) With(set *access.Set, in access.Input) Rights {
	return Rights{engine: d.engine, Input: in, applied: set.For(in), Revision: set.Revision}
}

// Quota returns the limits that apply to the principal of rights; nil for none.
func (d *Decider) Quota(ctx context.Context, r Rights) (*policyv1.EffectiveQuota, error) {
	p := r.Input.Principal
	if p.GetKind() != policyv1.PrincipalKind_PRINCIPAL_KIND_USER {
		return nil, nil
	}
	return d.quotas.Of(ctx, p.GetTenant(), p.GetSubject(), r.Revision)
}

// Policies returns a tenant's policies with every change that was committed before the call.
func (d *Decider) Policies(ctx context.Context, tenant string) (*access.Set, error) {
	return d.sets.current(ctx, tenant)
}

// RequiresApprovals reports whether the mesh has rules that require approvals of calls.
func (d *Decider) RequiresApprovals() bool { return len(d.engine.approvals) > 0 }

// Compile returns the policies of a snapshot of a tenant; those that have not changed are not compiled again.
func (d *Decider) Compile(snapshot store.Snapshot, tenant string) (*access.Set, error) {
	return d.sets.compiled(snapshot, tenant)
}

// Changed has caches of permissions forget the tenant's, after a change was committed. A lost message makes them older, not wrong:
// decisions on tools read the revision, and permissions expire.
func (d *Decider) Changed(ctx context.Context, tenant string) {
	d.sets.changed(tenant)
	if d.bus == nil {
		return
	}
	if err := d.bus.Publish(contract.PolicySubject(tenant), []byte(tenant)); err != nil {
		d.log.WarnContext(ctx, "change of access policies not announced", "error", err)
	}
}
