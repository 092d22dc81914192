package execute

import (
	"context"

	"github.com/windlass-dev/windlass/libs/ids"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/cache"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// attempt runs the call after all checks. The row is that of an earlier attempt, nil for a new key.
func (x *Executor) attempt(ctx context.Context, f *flight, r *request, row *store.Execution) (Outcome, error) {
	t, gone, err := x.admission.resolve(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	if gone != nil {
		return failed(gone), nil
	}
	changed, err := x.admission.drift(ctx, r, &t)
	if err != nil {
		return Outcome{}, err
	}
	approval := approvalFor(r, t, row)
	d, err := x.admission.decide(ctx, r, t, approval)
	if err != nil {
		return Outcome{}, err
	}
	f.tell(Event{Decided: decided(d)})
	out, err := x.admission.admit(ctx, r, t, d, approval, changed)
	if err != nil {
		return Outcome{}, err
	}
	if out != nil {
		out.source = t.Source.Name
		return *out, nil
	}
	kept, fill, err := x.results.recall(ctx, r, t, row, approval)
	if err != nil {
		return Outcome{}, err
	}
	if kept != nil {
		return x.record(ctx, r, t, d.GetId(), kept)
	}
	var result *turnv1.ToolResult
	defer func() { fill.Done(ctx, result) }()
	if out, err = x.count(ctx, r); err != nil {
		return Outcome{}, err
	}
	if out != nil {
		out.source = t.Source.Name
		return *out, nil
	}
	e, err := x.enter(ctx, r, t, row, d.GetId(), approval, fill)
	if err != nil {
		return Outcome{}, err
	}
	x.flights.hold(e.row.ID, f)
	defer x.flights.release(e.row.ID)
	defer e.stop()
	sent, err := x.send(ctx, f, r, t, e, inDoubtBefore(row))
	if err == nil {
		result = keepable(sent)
	}
	return sent, err
}

// inDoubtBefore reports whether an earlier attempt may have run and nobody has resolved that it did not.
func inDoubtBefore(row *store.Execution) bool {
	return row != nil && row.State == store.Unresolved && row.Resolution.What != store.SaidNotDone
}

// enter writes the ledger row before the call is sent, unless it may be written later.
func (x *Executor) enter(ctx context.Context, r *request, t store.Tool, row *store.Execution, decision, approval string, fill *cache.Fill,
) (*entry, error) {
	lease := x.deps.Now().Add(x.cfg.LeaseTTL)
	if row != nil {
		again := *row
		again.DecisionID, again.DefinitionHash, again.Effect, again.ApprovalID = decision, t.DefinitionHash, t.Effect, approval
		reopened, err := x.deps.Store.Reopen(ctx, again, x.owner, lease)
		return opened(x, reopened), err
	}
	fresh := x.newRow(r, t, decision)
	fresh.State, fresh.Attempts, fresh.ApprovalID, fresh.Lease = store.Open, 1, approval, lease
	if fill != nil {
		fresh.Cache = store.CacheMiss
	}
	if r.unrepeated(t) {
		return late(ctx, x, fresh), nil
	}
	return opened(x, fresh), x.deps.Store.Open(ctx, fresh)
}

// newRow returns the row of a call that has none yet.
func (x *Executor) newRow(r *request, t store.Tool, decision string) store.Execution {
	e := store.Execution{
		Tenant: r.Tenant, ID: ids.New(ids.Execution), Key: r.Key, Tool: r.Tool, Source: t.Source.Name, DefinitionHash: t.DefinitionHash,
		TurnID: r.TurnID, SessionID: r.SessionID, CallID: r.CallID, Subject: r.Principal.GetSubject(), Effect: t.Effect,
		ArgumentsHash: r.argsHash, DecisionID: decision, Owner: x.owner, CreateTime: x.deps.Now(),
	}
	if text := r.args.JSON(); len(text) <= maxStoredArguments {
		e.Arguments = string(text)
	}
	return e
}

// maxStoredArguments limits the arguments in the ledger, in bytes.
const maxStoredArguments = 64 << 10
