package execute

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/schema"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// decide asks policy about the call.
func (a *attempt) decide(ctx context.Context) (_ *Outcome, err error) {
	r := a.req
	a.approval = a.covering()
	a.decision, err = a.x.deps.Policy.DecideTool(ctx, &policyv1.DecideToolRequest{
		Principal: r.Principal, Tool: r.Tool, Source: a.tool.Source.Name, Effect: turnv1.EffectClass(a.tool.Effect),
		ArgumentsHash: r.argsHash, TurnId: r.TurnID, CallId: r.CallID,
		Arguments: r.args.Struct(), ApprovalRules: r.Rules, ApprovalId: a.approval, Tainted: r.Tainted,
		KeepsRecord: a.flight != nil && a.row == nil && !a.follows(),
	})
	if err != nil {
		return nil, fmt.Errorf("ask policy: %w", err)
	}
	if len(a.decision.GetRecord()) == 0 {
		a.tellDecided()
	}
	if !a.decision.GetAllowed() {
		return refused(denied(r.Tool)), nil
	}
	return nil, nil
}

func denied(tool string) *fault.Error {
	return fault.New(codes.PermissionDenied, faultv1.Reason_REASON_PERMISSION_DENIED, "you may not use the tool %q; it was not called", tool).
		Hint("Go on without it, and tell the user if that matters.")
}

func decided(d *policyv1.Decision) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{ID: d.GetId(), Allowed: d.GetAllowed(), Reason: d.GetReason()}
}

// covering returns the id of the approval that covers the call: the arguments and the tool's definition must be the approved ones. An
// approval under which the call already ran also covers further attempts. Empty = none.
func (a *attempt) covering() string {
	given := a.req.Approved
	switch {
	case given.GetApprovalId() != "" && given.GetArgumentsHash() == a.req.argsHash && given.GetDefinitionHash() == a.tool.DefinitionHash:
		return given.GetApprovalId()
	case a.row != nil && a.row.DefinitionHash == a.tool.DefinitionHash:
		return a.row.ApprovalID
	}
	return ""
}

// check validates the arguments. A call that the present tool would reject is not one to ask an approval of.
func (a *attempt) check(ctx context.Context) (*Outcome, error) {
	if wrong, err := a.checkArguments(ctx, a.req.Pinned); err != nil || wrong != nil {
		return refused(wrong), err
	}
	if !a.changed {
		return nil, nil
	}
	if wrong, err := a.checkArguments(ctx, ""); err != nil || wrong == nil {
		return nil, err
	}
	return refused(definitionChanged(a.req.Tool)), nil
}

// checkArguments validates the arguments against the definition with the hash, or the present one if the hash is empty or unknown. It
// reports arguments that could not be parsed without parsing them again.
func (a *attempt) checkArguments(ctx context.Context, hash string) (*fault.Error, error) {
	r, present, schemas := a.req, a.tool.DefinitionHash, a.x.deps.Schemas
	if r.badArgs != nil {
		return badArguments(r.Tool, []schema.Fault{{Message: r.badArgs.Error()}}), nil
	}
	if hash == "" {
		hash = present
	}
	v, ok := schemas.Get(hash)
	if !ok {
		found, err := a.x.deps.Store.Definitions(ctx, r.Tenant, []string{hash})
		if err == nil && len(found) == 0 && hash != present {
			found, err = a.x.deps.Store.Definitions(ctx, r.Tenant, []string{present})
		}
		if err != nil {
			return nil, fmt.Errorf("read definition: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("definition %s of tool %q is not stored", hash, r.Tool)
		}
		v = schemas.Add(ctx, found[0].Hash, r.Tool, found[0].InputSchema)
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

func badArguments(tool string, faults []schema.Fault) *fault.Error {
	texts := make([]string, len(faults))
	fields := make([]fault.Field, len(faults))
	for i, f := range faults {
		fields[i] = fault.Field{Path: "arguments" + f.Pointer, Message: f.Message}
		texts[i] = fields[i].Path + ": " + f.Message
	}
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_TOOL_ARGUMENTS,
		"the arguments do not fit the tool %q, it was not called: %s", tool, strings.Join(texts, "; "))
	e.Fields = fields
	return e.Hint("Correct the arguments and call it again.")
}

// approve requires the approval of a rule, or of a definition that changed.
func (a *attempt) approve(context.Context) (*Outcome, error) {
	r, rule := a.req, a.decision.GetApproval().GetRule()
	switch {
	case a.approval != "":
		return nil, nil
	case rule != nil && r.CanWait:
		return &Outcome{Approval: &registryv1.ApprovalRequired{
			Rule: rule, ArgumentsHash: r.argsHash, DefinitionHash: a.tool.DefinitionHash, Effect: turnv1.EffectClass(a.tool.Effect),
			Void: r.Approved != nil,
		}}, nil
	case rule != nil:
		return refused(fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_APPROVAL_REQUIRED,
			"the tool %q requires an approval (approval rule %q), and this call cannot wait for it; it was not called", r.Tool, rule.GetName()).
			Hint("Have an agent call it in a turn.")), nil
	case a.changed:
		return refused(definitionChanged(r.Tool)), nil
	}
	return nil, nil
}

func definitionChanged(tool string) *fault.Error {
	return fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_DEFINITION_CHANGED,
		"the definition of the tool %q changed while the turn ran; it was not called", tool).
		Hint("Go on without it, and tell the user to begin a new turn if it is needed.")
}
