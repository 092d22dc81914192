package execute

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// admission decides whether a call may be sent: the tool exists, policy allows the call, and the arguments fit. It writes nothing.
type admission struct {
	store   Store
	policy  policyv1.PolicyServiceClient
	schemas *schema.Cache
}

// decide asks policy about the call.
func (a admission) decide(ctx context.Context, r *request, t store.Tool, approval string) (*policyv1.Decision, error) {
	d, err := a.policy.DecideTool(ctx, &policyv1.DecideToolRequest{
		Principal: r.Principal, Tool: r.Tool, Source: t.Source.Name, Effect: turnv1.EffectClass(t.Effect),
		ArgumentsHash: r.argsHash, TurnId: r.TurnID, CallId: r.CallID,
		Arguments: r.args.Struct(), ApprovalRules: r.Rules, ApprovalId: approval, Tainted: r.Tainted,
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
func (a admission) admit(
	ctx context.Context, r *request, t store.Tool, d *policyv1.Decision, approval string, changed bool,
) (*Outcome, error) {
	if !d.GetAllowed() {
		return refused(denied(r.Tool)), nil
	}
	if wrong, err := a.check(ctx, r, t, r.Pinned); err != nil || wrong != nil {
		return refused(wrong), err
	}
	if changed {
		// Do not ask for an approval of a call that the present tool would reject.
		if wrong, err := a.check(ctx, r, t, ""); err != nil || wrong != nil {
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
func (a admission) resolve(ctx context.Context, r *request) (store.Tool, *fault.Error, error) {
	if !r.InSurface || !toolName.MatchString(r.Tool) {
		gone, err := a.unknown(ctx, r)
		return store.Tool{}, gone, err
	}
	t, err := a.store.Tool(ctx, r.Tenant, r.Tool)
	switch {
	case errors.Is(err, store.ErrNotFound):
		gone, err := a.unknown(ctx, r)
		return t, gone, err
	case err != nil:
		return t, nil, fmt.Errorf("look up tool: %w", err)
	case t.Source.Disabled:
		return t, fault.NotFound("the tool %q is switched off", r.Tool).Hint("Go on without it."), nil
	case t.DriftedHash != "":
		return t, definitionHeld(r.Tool), nil
	}
	return t, nil, nil
}

// check validates the arguments against the definition with the hash, or the present one if the hash is empty or unknown. It reports
// arguments that could not be parsed without parsing them again.
func (a admission) check(ctx context.Context, r *request, t store.Tool, hash string) (*fault.Error, error) {
	if r.badArgs != nil {
		return badArguments(r.Tool, []schema.Fault{{Message: r.badArgs.Error()}}), nil
	}
	if hash == "" {
		hash = t.DefinitionHash
	}
	v, ok := a.schemas.Get(hash)
	if !ok {
		found, err := a.store.Definitions(ctx, r.Tenant, []string{hash})
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if len(found) == 0 && hash != t.DefinitionHash {
			found, err = a.store.Definitions(ctx, r.Tenant, []string{t.DefinitionHash})
			if err != nil {
				return nil, fmt.Errorf("read definition: %w", err)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("definition %s of tool %q is not stored", hash, r.Tool)
		}
		v = a.schemas.Add(ctx, found[0].Hash, r.Tool, found[0].InputSchema)
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

// unknown returns the fault for an unknown tool, with similar names.
func (a admission) unknown(ctx context.Context, r *request) (*fault.Error, error) {
	names, err := a.store.ToolNames(ctx, r.Tenant, "", "", maxCandidates)
	if err != nil {
		return nil, fmt.Errorf("list tools: %w", err)
	}
	near := nearestTools(r.Tool, names)
	f := fault.NotFound("there is no tool %q", r.Tool)
	if len(near) > 0 {
		allowed, err := a.policy.FilterTools(ctx, &policyv1.FilterToolsRequest{Principal: r.Principal, Tools: near})
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
