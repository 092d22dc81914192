package policy

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/authn"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

func toProto(d store.Decision) *policyv1.Decision {
	return &policyv1.Decision{
		Id: d.ID, CreateTime: timestamppb.New(d.Time), Subject: d.Subject, Kind: d.Kind, Resource: d.Resource,
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

// effectName returns "read", "idempotent", "once", or "" for an unknown effect.
func effectName(e turnv1.EffectClass) string {
	if e == turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(e.String(), "EFFECT_CLASS_"))
}

// effectOf is the inverse of effectName; anything else is unspecified.
func effectOf(name string) turnv1.EffectClass {
	switch name {
	case "read":
		return turnv1.EffectClass_EFFECT_CLASS_READ
	case "idempotent":
		return turnv1.EffectClass_EFFECT_CLASS_IDEMPOTENT
	case "once":
		return turnv1.EffectClass_EFFECT_CLASS_ONCE
	default:
		return turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED
	}
}

// asks describes the approval rule that applies to a call.
func asks(r *policyv1.ApprovalRule, ofAgent bool, approval string) string {
	text := fmt.Sprintf("; approval rule %q", r.GetName())
	if ofAgent {
		text = fmt.Sprintf("; the agent's approval rule %q", r.GetName())
	}
	if approval != "" {
		return text + " wants a person's leave, which " + approval + " gives"
	}
	return text + " wants a person's leave first"
}
