package api

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/timestamp"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func decisionToProto(d store.Decision) *policyv1.Decision {
	out := &policyv1.Decision{
		Id: d.ID, CreateTime: timestamppb.New(d.Time), Subject: d.Subject, Kind: enum.Parse[policyv1.DecisionKind](d.Kind), Resource: d.Resource,
		Allowed: d.Allowed, Reason: d.Reason, Rule: d.Rule, TurnId: d.TurnID, CallId: d.CallID, ArgumentsHash: d.ArgumentsHash,
		PolicyRevision: d.PolicyRevision, InputHash: d.InputHash, Latency: durationpb.New(d.Latency),
	}
	if d.Policies != "" {
		out.Policies = strings.Split(d.Policies, ",")
	}
	return out
}

func policyToProto(p store.Policy) *policyv1.AccessPolicy {
	out := &policyv1.AccessPolicy{
		Name: p.Name, Description: p.Spec.Description, Priority: p.Spec.Priority, Disabled: p.Spec.Disabled, Expression: p.Spec.Expression,
		ToolGroups: p.Spec.ToolGroups, Tools: p.Spec.Tools, Permissions: p.Spec.Permissions, Effect: policyv1.AccessEffect(p.Spec.Effect),
		Revision: p.Revision, PolicyRevision: p.PolicyRevision, CreateTime: timestamp.Of(p.CreateTime), UpdateTime: timestamp.Of(p.UpdateTime),
	}
	for _, m := range p.Spec.Matchers {
		out.Matchers = append(out.Matchers, &policyv1.ClaimMatcher{
			Path: m.Path, Operator: policyv1.ClaimOperator(m.Operator), Values: m.Values,
		})
	}
	return out
}

// asks describes the approval rule that applies to a call.
func asks(r *policyv1.ApprovalRule, ofAgent bool, approval string) string {
	text := fmt.Sprintf("; approval rule %q", r.GetName())
	if ofAgent {
		text = fmt.Sprintf("; the agent's approval rule %q", r.GetName())
	}
	if approval != "" {
		return text + " requires an approval, which " + approval + " grants"
	}
	return text + " requires an approval first"
}
