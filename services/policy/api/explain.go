package api

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// Permissions that make more of explanations.
const (
	// explainOthers is needed to ask about other principals.
	explainOthers = "policy.principals.explain"
	// replayDrafts is needed to ask about a draft of a policy.
	replayDrafts = "policy.decisions.replay"
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
	who, err := s.explained(ctx, req.GetPrincipal(), req.GetSubject())
	if err != nil {
		return nil, err
	}
	in, err := access.NewInput(who)
	if err != nil {
		return nil, err
	}
	x, err := s.newExplainer(ctx, caller.GetTenant(), req.GetDraft(), toolsOf(req)...)
	if err != nil {
		return nil, err
	}
	v := x.decide(in, req.GetTool(), req.GetPermission())
	resp := &policyv1.ExplainAccessResponse{
		Allowed: v.Allowed, Reason: v.Reason, Rule: v.Rule, Policies: v.Policies, PolicyRevision: x.set.Revision, Decision: v.becomes(),
		ApprovalRule: v.approval,
	}
	withValues := mine.Permission(readPolicies).Allowed
	for _, e := range x.set.Explain(in, req.GetTool(), req.GetPermission(), x.members) {
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
	}
	return checkExplainer(mine, req.GetPrincipal() != nil || req.GetSubject() != "", req.GetDraft())
}

// checkExplainer checks whether a caller may ask about others, and about a draft.
func checkExplainer(mine decide.Rights, others bool, draft *policyv1.AccessPolicy) error {
	if v := mine.Permission(explainOthers); others && !v.Allowed {
		return fault.Denied(explainOthers, v.Rule)
	}
	if v := mine.Permission(replayDrafts); draft != nil && !v.Allowed {
		return fault.Denied(replayDrafts, v.Rule)
	}
	return nil
}

// toolsOf returns the tool that a request asks about, if it asks about one.
func toolsOf(req *policyv1.ExplainAccessRequest) []string {
	if req.GetTool() == "" {
		return nil
	}
	return []string{req.GetTool()}
}

// explained returns the principal that a request asks about: the given one, a recorded one, or the caller.
func (s *accessPolicies) explained(ctx context.Context, p *policyv1.ExplainedPrincipal, subject string) (*policyv1.Principal, error) {
	caller := authn.From(ctx)
	if p != nil {
		return &policyv1.Principal{
			Tenant: caller.GetTenant(), Subject: p.GetSubject(), Kind: policyv1.PrincipalKind_PRINCIPAL_KIND_USER, Roles: p.GetRoles(),
			Claims: p.GetClaims(),
		}, nil
	}
	if subject == "" {
		return caller, nil
	}
	last, err := s.store.LastInput(ctx, caller.GetTenant(), subject)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.NotFound("no decision about %q is recorded, so that its roles and claims are not known", subject).
			Hint("Give the principal with its roles and claims in place of the subject.")
	}
	if err != nil {
		return nil, fmt.Errorf("read principal of %q: %w", subject, err)
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
