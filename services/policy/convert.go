package policy

import (
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/enum"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func toProto(d store.Decision) *policyv1.Decision {
	return &policyv1.Decision{
		Id: d.ID, CreateTime: timestamppb.New(d.Time), Subject: d.Subject, Kind: enum.Parse[policyv1.DecisionKind](d.Kind), Resource: d.Resource,
		Allowed: d.Allowed, Reason: d.Reason, Rule: d.Rule, TurnId: d.TurnID, CallId: d.CallID, ArgumentsHash: d.ArgumentsHash,
	}
}

// tenant returns the tenant of a decision about the principal.
func tenant(p *policyv1.Principal) string {
	if t := p.GetTenant(); t != "" {
		return t
	}
	return authn.DefaultTenant
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
