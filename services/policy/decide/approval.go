package decide

import (
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Approval is a rule by which tool calls require an approval. All its conditions must hold; empty ones always do.
type Approval struct {
	Name           string   `yaml:"name" doc:"Name of the rule, as shown to approvers and recorded in decisions."`
	Subjects       []string `yaml:"subjects" doc:"Globs over the subjects that calls are made for; empty = any."`
	Roles          []string `yaml:"roles" doc:"Globs over the roles of the subject that the call is made for; empty = any role or none."`
	Tools          []string `yaml:"tools" doc:"Globs over tool names, for example mail__send*; empty = all."`
	Effects        []string `yaml:"effects" doc:"Effect classes: read, idempotent, once; empty = all."`
	Condition      string   `yaml:"condition" doc:"Condition in CEL over arguments, tool, effect and principal, for example arguments.amount > 100. A condition that cannot be evaluated counts as true."`
	ApproverRoles  []string `yaml:"approver_roles" doc:"Roles of which an approver needs one; empty = anyone with the permission to decide approvals."`
	AllowRequester bool     `yaml:"allow_requester" doc:"The subject that started the turn may approve the call."`
	Quorum         uint32   `yaml:"quorum" doc:"Number of approvals required; 0 = 1."`
	ExpiresSeconds uint32   `yaml:"expires_seconds" doc:"Seconds until the request expires; 0 = the mesh's default."`
	Tainted        bool     `yaml:"tainted" doc:"Only calls that a model requests after it has read results of tools that their sources do not list in trusted_tools; without effects, those of tools that change something (idempotent and once)."`
	Reason         string   `yaml:"reason" doc:"Why, for approvers."`
}

// ToolCall is one call to decide on.
type ToolCall struct {
	// Principal is on whose behalf the call is made.
	Principal *policyv1.Principal
	// Tool is the namespaced name, Effect "read", "idempotent", "once" or empty.
	Tool, Effect string
	// Arguments are the call's arguments.
	Arguments *structpb.Struct
	// Tainted: the model had read content that is not trusted.
	Tainted bool
}

const (
	maxQuorum         = 16
	maxExpiresSeconds = 366 * 86400
)

// approval is a configured rule, ready for use.
type approval struct {
	who  Rule // only subjects and roles
	rule *policyv1.ApprovalRule
}

// newApprovals validates the rules; the error names the invalid one.
func newApprovals(rules []Approval, c *conditions) ([]approval, error) {
	made := make([]approval, len(rules))
	names := map[string]bool{}
	for i, r := range rules {
		a, err := r.ready(c)
		switch {
		case r.Name == "":
			return nil, errors.New("policy: an approval rule has no name")
		case names[r.Name]:
			return nil, fmt.Errorf("policy: duplicate approval rule %q", r.Name)
		case err != nil:
			return nil, fmt.Errorf("policy: approval rule %q: %w", r.Name, err)
		}
		names[r.Name] = true
		made[i] = a
	}
	return made, nil
}

func (r Approval) ready(c *conditions) (approval, error) {
	if r.Quorum > maxQuorum {
		return approval{}, fmt.Errorf("quorum is %d; %d is the most", r.Quorum, maxQuorum)
	}
	if r.ExpiresSeconds > maxExpiresSeconds {
		return approval{}, fmt.Errorf("expires_seconds is %d; %d is the most", r.ExpiresSeconds, maxExpiresSeconds)
	}
	effects := make([]turnv1.EffectClass, len(r.Effects))
	for i, name := range r.Effects {
		effects[i] = enum.Parse[turnv1.EffectClass](name)
		if effects[i] == turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED {
			return approval{}, fmt.Errorf("effects: %q; use read, idempotent or once", name)
		}
	}
	if err := c.check(r.Condition); err != nil {
		return approval{}, fmt.Errorf("condition: %w", err)
	}
	if err := checkTools(r.Tools); err != nil {
		return approval{}, err
	}
	return approval{
		who: Rule{Subjects: r.Subjects, Roles: r.Roles},
		rule: &policyv1.ApprovalRule{
			Name: r.Name, Tools: r.Tools, Effects: effects, Condition: r.Condition, ApproverRoles: r.ApproverRoles,
			AllowRequester: r.AllowRequester, Quorum: r.Quorum, ExpiresSeconds: r.ExpiresSeconds, Reason: r.Reason, Tainted: r.Tainted,
		},
	}, nil
}

// checkTools rejects patterns that no tool can match. A rule with one would silently have no effect.
func checkTools(patterns []string) error {
	for i, p := range patterns {
		if err := glob.CheckName(p); err != nil {
			return fmt.Errorf("tools[%d]: %w", i, err)
		}
	}
	return nil
}

// Approval returns the rule that requires an approval of the call: the mesh's first match, else the agent's; nil if none matches. ofAgent
// tells which.
func (e *Engine) Approval(call ToolCall, agent []*policyv1.ApprovalRule) (rule *policyv1.ApprovalRule, ofAgent bool) {
	for _, a := range e.approvals {
		if a.who.appliesTo(call.Principal.GetSubject(), call.Principal.GetRoles()) && e.fits(a.rule, call) {
			return a.rule, false
		}
	}
	for _, r := range agent {
		if e.fits(r, call) {
			return r, true
		}
	}
	return nil, false
}

func (e *Engine) fits(r *policyv1.ApprovalRule, call ToolCall) bool {
	if len(r.GetTools()) > 0 && !glob.Any(r.GetTools(), call.Tool) {
		return false
	}
	effect := enum.Parse[turnv1.EffectClass](call.Effect)
	if effect == turnv1.EffectClass_EFFECT_CLASS_UNSPECIFIED {
		effect = turnv1.EffectClass_EFFECT_CLASS_ONCE // no declared effect
	}
	if r.GetTainted() && (!call.Tainted || len(r.GetEffects()) == 0 && effect == turnv1.EffectClass_EFFECT_CLASS_READ) {
		return false
	}
	if len(r.GetEffects()) > 0 && !slices.Contains(r.GetEffects(), effect) {
		return false
	}
	return e.conditions.holds(r.GetCondition(), call)
}

// mayAsk returns the name of the first rule of the mesh that requires an approval of calls of a tool, for some arguments or for all; empty
// if none does. Rules that only apply after content that is not trusted do not count.
func (e *Engine) mayAsk(call ToolCall) string {
	for _, a := range e.approvals {
		rule := proto.CloneOf(a.rule)
		rule.Condition = ""
		if !rule.GetTainted() && a.who.appliesTo(call.Principal.GetSubject(), call.Principal.GetRoles()) && e.fits(rule, call) {
			return rule.GetName()
		}
	}
	return ""
}

// CheckApprovals returns what is wrong with an agent's rules; none = they are valid.
func (e *Engine) CheckApprovals(rules []*policyv1.ApprovalRule) []*policyv1.ApprovalRuleFault {
	var faults []*policyv1.ApprovalRuleFault
	names := map[string]bool{}
	for i, r := range rules {
		if names[r.GetName()] {
			faults = append(faults, &policyv1.ApprovalRuleFault{
				Index: uint32(i), Field: "name", Message: fmt.Sprintf("there is another rule %q; give each its own name", r.GetName()),
			})
		}
		names[r.GetName()] = true
		if err := e.conditions.check(r.GetCondition()); err != nil {
			faults = append(faults, &policyv1.ApprovalRuleFault{Index: uint32(i), Field: "condition", Message: err.Error()})
		}
		for k, p := range r.GetTools() {
			if err := glob.CheckName(p); err != nil {
				faults = append(faults, &policyv1.ApprovalRuleFault{Index: uint32(i), Field: fmt.Sprintf("tools[%d]", k), Message: err.Error()})
			}
		}
	}
	return faults
}
