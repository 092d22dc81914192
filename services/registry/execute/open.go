package execute

import (
	"context"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// open writes the ledger row before the call is sent, unless it may be written later.
func (a *attempt) open(ctx context.Context) (_ *Outcome, err error) {
	x, lease := a.x, a.x.deps.Now().Add(a.x.cfg.LeaseTTL)
	var e *entry
	if a.row != nil {
		again := *a.row
		again.DecisionID, again.DefinitionHash, again.Effect = a.decision.GetId(), a.tool.DefinitionHash, a.tool.Effect
		again.ApprovalID = a.approval
		again, err = x.deps.Store.Reopen(ctx, again, x.owner, lease)
		e = x.opened(again)
	} else {
		row := a.newRow()
		row.State, row.Attempts, row.ApprovalID, row.Lease = store.Open, 1, a.approval, lease
		row.Decision = a.decision.GetRecord()
		if a.fill != nil {
			row.Cache = store.CacheMiss
		}
		if a.follows() {
			e = x.late(ctx, row)
		} else {
			e, err = x.opened(row), x.deps.Store.Open(ctx, row)
		}
	}
	if err != nil {
		return nil, err
	}
	a.entry = e
	if len(a.decision.GetRecord()) > 0 {
		a.tellDecided()
	}
	x.flights.hold(e.row.ID, a.flight)
	return nil, nil
}

// newRow returns the row of a call that has none yet.
func (a *attempt) newRow() store.Execution {
	r, t := a.req, a.tool
	e := store.Execution{
		Tenant: r.Tenant, ID: ids.New(ids.Execution), Key: r.Key, Tool: r.Tool, Source: t.Source.Name, DefinitionHash: t.DefinitionHash,
		TurnID: r.TurnID, SessionID: r.SessionID, CallID: r.CallID, Subject: r.Principal.GetSubject(), Effect: t.Effect,
		ArgumentsHash: r.argsHash, DecisionID: a.decision.GetId(), Owner: a.x.owner, CreateTime: a.x.deps.Now(),
	}
	if text := r.args.JSON(); len(text) <= maxStoredArguments {
		e.Arguments = string(text)
	}
	return e
}

// maxStoredArguments limits the arguments in the ledger, in bytes.
const maxStoredArguments = 64 << 10
