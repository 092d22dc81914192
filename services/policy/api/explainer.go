package api

import (
	"context"
	"fmt"

	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/access"
	"github.com/windlass-dev/windlass/services/policy/decide"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// explainer decides without recording: with the stored policies of a tenant, or with a draft among them.
type explainer struct {
	*accessPolicies
	set     *access.Set
	members access.Members
	effects map[string]turnv1.EffectClass
}

// newExplainer returns an explainer for decisions about some tools.
func (s *accessPolicies) newExplainer(ctx context.Context, tenant string, draft *policyv1.AccessPolicy, tools ...string) (
	x explainer, err error,
) {
	x.accessPolicies = s
	if x.set, err = s.decider.Policies(ctx, tenant); err != nil {
		return x, err
	}
	if draft != nil {
		compiled, err := compiledPolicy("draft.", store.Policy{Name: draft.GetName(), Spec: specOf(draft)})
		if err != nil {
			return x, err
		}
		if x.set, err = x.set.With(compiled); err != nil {
			return x, err
		}
	}
	if len(tools) == 0 || s.groups == nil || len(x.set.Groups()) == 0 && !s.decider.RequiresApprovals() {
		return x, nil
	}
	resp, err := s.evaluate(ctx, &registryv1.EvaluateToolGroupsRequest{
		Tenant: tenant, Groups: x.set.Groups(), Tools: tools, WithEffects: true,
	})
	x.members, x.effects = resp.GetGroups(), resp.GetEffects()
	return x, err
}

// members asks the registry which of the tools are in the groups now.
func (s *accessPolicies) members(ctx context.Context, tenant string, groups, tools []string) (access.Members, error) {
	if len(groups) == 0 || len(tools) == 0 || s.groups == nil {
		return nil, nil
	}
	resp, err := s.evaluate(ctx, &registryv1.EvaluateToolGroupsRequest{Tenant: tenant, Groups: groups, Tools: tools})
	return resp.GetGroups(), err
}

// evaluate asks the registry for the groups and effects of tools.
func (s *accessPolicies) evaluate(ctx context.Context, req *registryv1.EvaluateToolGroupsRequest) (
	*registryv1.EvaluateToolGroupsResponse, error,
) {
	resp, err := s.groups.EvaluateToolGroups(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("ask the registry for tool groups: %w", err)
	}
	return resp, nil
}

// verdict is a decision, with the rule that requires an approval.
type verdict struct {
	decide.Verdict
	approval string
}

// becomes returns what becomes of a call.
func (v verdict) becomes() policyv1.AccessDecision {
	switch {
	case !v.Allowed:
		return policyv1.AccessDecision_ACCESS_DECISION_DENY
	case v.approval != "":
		return policyv1.AccessDecision_ACCESS_DECISION_ASK
	}
	return policyv1.AccessDecision_ACCESS_DECISION_ALLOW
}

// decide decides about a tool, or, without one, about a permission.
func (x explainer) decide(in access.Input, tool, permission string) verdict {
	rights := x.decider.With(x.set, in)
	if tool == "" {
		return verdict{Verdict: rights.Permission(permission)}
	}
	v := verdict{Verdict: rights.Tool(tool, x.members)}
	if v.Allowed {
		v.approval = rights.MayAsk(tool, enum.Name(x.effects[tool]))
	}
	return v
}
