package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// Permissions that make more of explanations.
const (
	// explainOthers is needed to ask about other principals.
	explainOthers = "policy.principals.explain"
	// readPolicies is needed to see the values of matchers.
	readPolicies = "policy.access_policies.get"
)

// ExplainAccess implements AccessPolicyService.
func (s *accessPolicies) ExplainAccess(ctx context.Context, req *policyv1.ExplainAccessRequest) (*policyv1.ExplainAccessResponse, error) {
	caller := authn.From(ctx)
	mine, err := s.decider.Now(ctx, caller)
	if err != nil {
		return nil, err
	}
	if err := checkExplain(req, mine); err != nil {
		return nil, err
	}
	who, err := s.explained(ctx, req, caller)
	if err != nil {
		return nil, err
	}
	in, err := access.NewInput(who)
	if err != nil {
		return nil, err
	}
	set, err := s.decider.Policies(ctx, caller.GetTenant())
	if err != nil {
		return nil, err
	}
	var members access.Members
	if req.GetTool() != "" {
		if members, err = s.members(ctx, caller.GetTenant(), set.Groups(), []string{req.GetTool()}); err != nil {
			return nil, err
		}
	}
	r := s.decider.With(set, in)
	v := r.Permission(req.GetPermission())
	if req.GetTool() != "" {
		v = r.Tool(req.GetTool(), members)
	}
	resp := &policyv1.ExplainAccessResponse{
		Allowed: v.Allowed, Reason: v.Reason, Rule: v.Rule, Policies: v.Policies, PolicyRevision: set.Revision,
	}
	withValues := mine.Permission(readPolicies).Allowed
	for _, e := range set.Explain(in, req.GetTool(), req.GetPermission(), members) {
		resp.Explained = append(resp.Explained, explanationToProto(e, withValues))
	}
	return resp, nil
}

func checkExplain(req *policyv1.ExplainAccessRequest, mine decide.Rights) error {
	switch {
	case (req.GetTool() == "") == (req.GetPermission() == ""):
		return fault.Invalid("tool", "give either a tool or a permission")
	case req.GetPrincipal() != nil && req.GetSubject() != "":
		return fault.Invalid("subject", "give either a principal or a subject")
	case req.GetPrincipal() == nil && req.GetSubject() == "":
		return nil // about the caller
	}
	if v := mine.Permission(explainOthers); !v.Allowed {
		return fault.Denied(explainOthers, v.Rule)
	}
	return nil
}

// explained returns the principal that a request asks about.
func (s *accessPolicies) explained(ctx context.Context, req *policyv1.ExplainAccessRequest, caller *policyv1.Principal) (
	*policyv1.Principal, error,
) {
	if p := req.GetPrincipal(); p != nil {
		return &policyv1.Principal{
			Tenant: caller.GetTenant(), Subject: p.GetSubject(), Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER, Roles: p.GetRoles(),
			Claims: p.GetClaims(),
		}, nil
	}
	if req.GetSubject() == "" {
		return caller, nil
	}
	last, err := s.store.LastInput(ctx, caller.GetTenant(), req.GetSubject())
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.NotFound("no decision about %q is recorded, so that its roles and claims are not known", req.GetSubject()).
			Hint("Give the principal with its roles and claims in place of the subject.")
	}
	if err != nil {
		return nil, fmt.Errorf("read principal of %q: %w", req.GetSubject(), err)
	}
	return decodePrincipal(last)
}

func decodePrincipal(in store.Input) (*policyv1.Principal, error) {
	p := &policyv1.Principal{}
	if err := proto.Unmarshal(in.Principal, p); err != nil {
		return nil, fmt.Errorf("decode principal %s: %w", in.Hash, err)
	}
	return p, nil
}

// members asks the registry which of the tools are in the groups now.
func (s *accessPolicies) members(ctx context.Context, tenant string, groups, tools []string) (access.Members, error) {
	if len(groups) == 0 || len(tools) == 0 || s.groups == nil {
		return nil, nil
	}
	resp, err := s.groups.EvaluateToolGroups(ctx, &registryv1.EvaluateToolGroupsRequest{Tenant: tenant, Groups: groups, Tools: tools})
	if err != nil {
		return nil, fmt.Errorf("ask the registry for tool groups: %w", err)
	}
	return resp.GetGroups(), nil
}

func explanationToProto(e access.Explanation, withValues bool) *policyv1.ExplainedPolicy {
	out := &policyv1.ExplainedPolicy{
		Name: e.Policy.Name, Priority: e.Policy.Spec.Priority, Effect: policyv1.AccessEffect(e.Policy.Spec.Effect), Matches: e.Matches,
		Covers: e.Grant != "", Grant: e.Grant, Message: e.Message,
	}
	for _, r := range e.Results {
		m := &policyv1.ExplainedMatcher{Matches: r.OK, Message: r.Why}
		if r.Matcher != nil {
			m.Path, m.Operator = r.Matcher.Path, policyv1.ClaimOperator(r.Matcher.Operator)
			if withValues {
				m.Values = r.Matcher.Values
			}
		}
		out.Matchers = append(out.Matchers, m)
	}
	return out
}
