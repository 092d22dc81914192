package execute

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/schema"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// attempt runs the call after all checks. The row is that of an earlier attempt, nil for a new key.
func (x *Executor) attempt(ctx context.Context, f *flight, r *request, row *store.Execution) (Outcome, error) {
	t, gone, err := x.resolve(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	if gone != nil {
		return failed(gone), nil
	}
	changed, err := x.drift(ctx, r, &t)
	if err != nil {
		return Outcome{}, err
	}
	approval := approvalFor(r, t, row)
	d, err := x.decide(ctx, r, t, approval)
	if err != nil {
		return Outcome{}, err
	}
	f.tell(Event{Decided: decided(d)})
	out, err := x.admit(ctx, r, t, d, approval, changed)
	if err != nil {
		return Outcome{}, err
	}
	if out != nil {
		out.source = t.Source.Name
		return *out, nil
	}
	opened, err := x.open(ctx, r, t, row, d.GetId(), approval)
	if err != nil {
		return Outcome{}, err
	}
	x.flights.hold(opened.ID, f)
	defer x.flights.release(opened.ID)
	return x.send(ctx, f, r, t, opened, inDoubtBefore(row))
}

// inDoubtBefore reports whether an earlier attempt may have run and nobody has resolved that it did not.
func inDoubtBefore(row *store.Execution) bool {
	return row != nil && row.State == store.Unresolved && row.Resolution.What != store.SaidNotDone
}

// decide asks policy about the call.
func (x *Executor) decide(ctx context.Context, r *request, t store.Tool, approval string) (*policyv1.Decision, error) {
	d, err := x.deps.Policy.DecideTool(ctx, &policyv1.DecideToolRequest{
		Principal: r.Principal, Tool: r.Tool, Source: t.Source.Name, Effect: turnv1.EffectClass(t.Effect),
		ArgumentsHash: r.argsHash, TurnId: r.TurnID, CallId: r.CallID,
		Arguments: r.args.Struct(), ApprovalRules: r.Rules, ApprovalId: approval,
	})
	if err != nil {
		return nil, fmt.Errorf("ask policy: %w", err)
	}
	return d, nil
}

func decided(d *policyv1.Decision) *Decision {
	return &Decision{ID: d.GetId(), Allowed: d.GetAllowed(), Reason: d.GetReason()}
}

// admit returns why the call must not be sent now; nil if it may.
func (x *Executor) admit(ctx context.Context, r *request, t store.Tool, d *policyv1.Decision, approval string, changed bool) (*Outcome, error) {
	if !d.GetAllowed() {
		return refused(denied(r.Tool)), nil
	}
	if wrong, err := x.check(ctx, r, t, r.Pinned); err != nil || wrong != nil {
		return refused(wrong), err
	}
	if changed {
		// Do not ask for an approval of a call that the present tool would reject.
		if wrong, err := x.check(ctx, r, t, ""); err != nil || wrong != nil {
			return refused(definitionChanged(r.Tool)), err
		}
	}
	rule := d.GetApproval().GetRule()
	switch {
	case rule != nil && approval == "" && r.CanWait:
		return &Outcome{Approval: &registryv1.ApprovalRequired{
			Rule: rule, ArgumentsHash: r.argsHash, DefinitionHash: t.DefinitionHash, Effect: turnv1.EffectClass(t.Effect), Void: r.Approved != nil,
		}}, nil
	case rule != nil && approval == "":
		return refused(approvalRequired(r.Tool, rule.GetName())), nil
	case changed && approval == "":
		return refused(definitionChanged(r.Tool)), nil
	}
	return nil, nil
}

func refused(f *fault.Error) *Outcome {
	if f == nil {
		return nil
	}
	out := failed(f)
	return &out
}

// toolName matches names of ours; for anything else that a model wrote the database is not asked.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// resolve returns the tool, or a fault if there is none to call.
func (x *Executor) resolve(ctx context.Context, r *request) (store.Tool, *fault.Error, error) {
	if !r.InSurface || !toolName.MatchString(r.Tool) {
		gone, err := x.unknown(ctx, r)
		return store.Tool{}, gone, err
	}
	t, err := x.deps.Store.Tool(ctx, r.Tenant, r.Tool)
	switch {
	case errors.Is(err, store.ErrNotFound):
		gone, err := x.unknown(ctx, r)
		return t, gone, err
	case err != nil:
		return t, nil, fmt.Errorf("look up tool: %w", err)
	case t.Source.Disabled:
		return t, fault.NotFound("the tool %q is switched off", r.Tool).Hint("Go on without it."), nil
	}
	return t, nil, nil
}

// check validates the arguments against the definition with the hash, or the present one if the hash is empty or unknown. It reports
// arguments that could not be parsed without parsing them again.
func (x *Executor) check(ctx context.Context, r *request, t store.Tool, hash string) (*fault.Error, error) {
	if r.badArgs != nil {
		return badArguments(r.Tool, []schema.Fault{{Message: r.badArgs.Error()}}), nil
	}
	if hash == "" {
		hash = t.DefinitionHash
	}
	v, ok := x.deps.Schemas.Get(hash)
	if !ok {
		found, err := x.deps.Store.Definitions(ctx, r.Tenant, []string{hash})
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if len(found) == 0 && hash != t.DefinitionHash {
			found, err = x.deps.Store.Definitions(ctx, r.Tenant, []string{t.DefinitionHash})
			if err != nil {
				return nil, fmt.Errorf("read definition: %w", err)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("definition %s of tool %q is not stored", hash, r.Tool)
		}
		v = x.deps.Schemas.Add(ctx, found[0].Hash, r.Tool, found[0].InputSchema)
	}
	faults, err := v.Validate(ctx, r.args)
	if err != nil {
		return nil, fmt.Errorf("check arguments: %w", err)
	}
	if faults != nil {
		return badArguments(r.Tool, faults), nil
	}
	return nil, nil
}

// open commits the ledger row before the call is sent.
func (x *Executor) open(ctx context.Context, r *request, t store.Tool, row *store.Execution, decision, approval string) (store.Execution, error) {
	at := x.deps.Now()
	if row != nil {
		again := *row
		again.DecisionID, again.DefinitionHash, again.Effect, again.ApprovalID = decision, t.DefinitionHash, t.Effect, approval
		return x.deps.Store.Reopen(ctx, again, x.owner, at.Add(x.cfg.LeaseTTL))
	}
	e := store.Execution{
		Tenant: r.Tenant, ID: ids.New(ids.Execution), Key: r.Key, Tool: r.Tool, Source: t.Source.Name, DefinitionHash: t.DefinitionHash,
		TurnID: r.TurnID, SessionID: r.SessionID, CallID: r.CallID, Subject: r.Principal.GetSubject(), Effect: t.Effect,
		State: store.Open, Attempts: 1, ArgumentsHash: r.argsHash, DecisionID: decision, ApprovalID: approval,
		Owner: x.owner, Lease: at.Add(x.cfg.LeaseTTL), CreateTime: at,
	}
	return e, x.deps.Store.Open(ctx, e)
}

// unknown returns the fault for an unknown tool, with similar names.
func (x *Executor) unknown(ctx context.Context, r *request) (*fault.Error, error) {
	names, err := x.deps.Store.ToolNames(ctx, r.Tenant, "", "", maxCandidates)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	near := nearestTools(r.Tool, names)
	f := fault.NotFound("there is no tool %q", r.Tool)
	if len(near) > 0 {
		allowed, err := x.deps.Policy.FilterTools(ctx, &policyv1.FilterToolsRequest{Principal: r.Principal, Tools: near})
		if err != nil {
			return nil, fmt.Errorf("ask policy: %w", err)
		}
		near = allowed.GetTools()
	}
	if len(near) > 0 {
		return f.Hint("Did you mean %s?", strings.Join(near, ", ")), nil
	}
	return f.Hint("Use a tool from the list you were given."), nil
}
