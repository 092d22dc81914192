package api

import (
	"context"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/faultpoint"
	"github.com/windlass-dev/windlass/libs/ids"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/shield/chain"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// policy implements PolicyService.
type policy struct {
	policyv1.UnimplementedPolicyServiceServer
	engine   *decide.Engine
	decider  *decide.Decider
	recorder *decide.Recorder
	denials  *decide.Denials
	shields  chain.Shields
	store    store.Store
	maxAge   time.Duration
	now      func() time.Time // the database's
}

// GetPermissions implements PolicyService.
func (s *policy) GetPermissions(ctx context.Context, req *policyv1.GetPermissionsRequest) (*policyv1.GetPermissionsResponse, error) {
	r, err := s.decider.Now(ctx, req.GetPrincipal())
	if err != nil {
		return nil, err
	}
	limits, err := s.decider.Quota(ctx, r)
	if err != nil {
		return nil, err
	}
	globs, deniedBy := r.Permissions()
	return &policyv1.GetPermissionsResponse{
		Permissions: globs, DeniedBy: deniedBy, PolicyRevision: r.Revision, Quota: limits,
		MaxAge: durationpb.New(s.maxAge),
	}, nil
}

// DecideTool implements PolicyService.
func (s *policy) DecideTool(ctx context.Context, req *policyv1.DecideToolRequest) (*policyv1.Decision, error) {
	began, p := time.Now(), req.GetPrincipal()
	r, err := s.decider.Now(ctx, p)
	if err != nil {
		return nil, err
	}
	members := access.Members(req.GetGroups())
	if groups := r.Missing(members); len(groups) > 0 {
		return &policyv1.Decision{NeededGroups: groups}, nil
	}
	v := r.Tool(req.GetTool(), members)
	var needed *policyv1.ApprovalRequirement
	if v.Allowed {
		call := decide.ToolCall{
			Principal: p, Tool: req.GetTool(), Effect: enum.Name(req.GetEffect()), Arguments: req.GetArguments(), Tainted: req.GetTainted(),
		}
		if rule, ofAgent := s.engine.Approval(call, req.GetApprovalRules()); rule != nil {
			v.Reason += asks(rule, ofAgent, req.GetApprovalId())
			needed = &policyv1.ApprovalRequirement{Rule: rule}
		}
	}
	d := store.Decision{
		Tenant: p.GetTenant(), ID: ids.New(ids.Decision), Time: s.now(), Subject: p.GetSubject(), Actor: decide.Actor(ctx),
		Kind: store.Tool, Resource: req.GetTool(), Allowed: v.Allowed, Rule: v.Rule, Reason: v.Reason,
		Source: req.GetSource(), Effect: enum.Name(req.GetEffect()), ArgumentsHash: req.GetArgumentsHash(),
		TurnID: req.GetTurnId(), CallID: req.GetCallId(),
		PolicyRevision: r.Revision, Policies: strings.Join(v.Policies, ","), InputHash: r.Input.Hash,
		Latency: time.Since(began).Truncate(time.Microsecond),
	}
	// A call without side effects may lose its record in a crash; the record of another one is kept by the caller.
	reads := req.GetEffect() == turnv1.EffectClass_EFFECT_CLASS_READ
	follows, err := s.recorder.Add(ctx, d, r.Input, v.Allowed && needed == nil && (reads || req.GetKeepsRecord()))
	if err != nil {
		return nil, err
	}
	if err := faultpoint.Fail(faultpoint.PolicyDecided); err != nil {
		return nil, err
	}
	out := decisionToProto(d)
	out.Approval = needed
	if follows && req.GetKeepsRecord() {
		out.Record, err = d.Encode()
	}
	return out, err
}

// RecordDecisions implements PolicyService.
func (s *policy) RecordDecisions(ctx context.Context, req *policyv1.RecordDecisionsRequest) (*policyv1.RecordDecisionsResponse, error) {
	all := make([]store.Decision, len(req.GetRecords()))
	for i, record := range req.GetRecords() {
		if err := all[i].Decode(record); err != nil {
			return nil, fault.Invalid("records", "record %d is not one of a decision", i)
		}
	}
	if err := s.store.AddMissing(ctx, all); err != nil {
		return nil, err
	}
	return &policyv1.RecordDecisionsResponse{}, nil
}

// CheckText implements PolicyService.
func (s *policy) CheckText(ctx context.Context, req *policyv1.CheckTextRequest) (*policyv1.CheckTextResponse, error) {
	return s.shields.Check(ctx, req)
}

// CheckApprovalRules implements PolicyService.
func (s *policy) CheckApprovalRules(_ context.Context, req *policyv1.CheckApprovalRulesRequest) (*policyv1.CheckApprovalRulesResponse,
	error,
) {
	return &policyv1.CheckApprovalRulesResponse{Faults: s.engine.CheckApprovals(req.GetRules())}, nil
}

// FilterTools implements PolicyService.
func (s *policy) FilterTools(ctx context.Context, req *policyv1.FilterToolsRequest) (*policyv1.FilterToolsResponse, error) {
	r, err := s.decider.Now(ctx, req.GetPrincipal())
	if err != nil {
		return nil, err
	}
	members := access.Members(req.GetGroups())
	if groups := r.Missing(members); len(groups) > 0 {
		return &policyv1.FilterToolsResponse{NeededGroups: groups}, nil
	}
	return &policyv1.FilterToolsResponse{Tools: r.Tools(req.GetTools(), members)}, nil
}

// RecordDenial implements PolicyService.
func (s *policy) RecordDenial(ctx context.Context, req *policyv1.RecordDenialRequest) (*policyv1.Decision, error) {
	d, err := s.denials.Record(ctx, req.GetPrincipal(), req.GetPermission(), req.GetMethod())
	if err != nil {
		return nil, err
	}
	return decisionToProto(d), nil
}

// ForgetTurns implements PolicyService.
func (s *policy) ForgetTurns(ctx context.Context, req *policyv1.ForgetTurnsRequest) (*policyv1.ForgetTurnsResponse, error) {
	if err := s.store.Forget(ctx, req.GetTenant(), req.GetTurnIds()); err != nil {
		return nil, err
	}
	return &policyv1.ForgetTurnsResponse{}, nil
}

// GetCaller implements PolicyService.
func (s *policy) GetCaller(ctx context.Context, _ *policyv1.GetCallerRequest) (*policyv1.Caller, error) {
	p := authn.From(ctx)
	r, err := s.decider.Now(ctx, p)
	if err != nil {
		return nil, err
	}
	roles, err := s.decider.Roles(ctx, p)
	if err != nil {
		return nil, err
	}
	out := &policyv1.Caller{
		Tenant: p.GetTenant(), Subject: p.GetSubject(), Kind: p.GetKind(), Roles: p.GetRoles(), Issuer: p.GetIssuer(),
	}
	out.Permissions, _ = r.Permissions()
	for _, role := range roles {
		out.RolesWithPermissions = append(out.RolesWithPermissions, &policyv1.RolePermissions{Role: role.Role, Permissions: role.Permissions})
	}
	return out, nil
}
