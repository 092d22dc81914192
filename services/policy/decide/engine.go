// Package decide decides what a principal may do, by the rules of the configuration and the access policies of its tenant, and which of its
// calls require an approval. It records each decision.
package decide

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authz"
	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
)

// Config has the rules of the configuration.
type Config struct {
	// Rules say what users may do, ServiceRules what the roles of the mesh may do.
	Rules, ServiceRules []Rule
	// Approvals say which allowed calls require an approval.
	Approvals []Approval
	// OperatorTenant is the tenant of those who run the mesh; empty = the default one.
	OperatorTenant string
}

// principalsKept limits the principals whose rules are remembered, maxKey the bytes of the subject and roles of each.
const (
	principalsKept = 4096
	maxKey         = 4096
)

// Engine evaluates rules. It never changes after New and is safe for concurrent use.
type Engine struct {
	users      []Rule
	services   []Rule
	approvals  []approval
	conditions *conditions
	operators  string
	applied    *lru.Cache[ruledBy, applied]
}

// ruledBy is what rules see of a principal.
type ruledBy struct {
	kind           policyv1.PrincipalKind
	subject, roles string
	operator       bool
}

// applied is the rules that apply to a principal, and what they say about permissions.
type applied struct {
	rules       []Rule
	permissions authz.Permissions
}

// ofMesh returns the permissions about the mesh itself, which shows objects of all tenants or concerns them.
func ofMesh() []string {
	return []string{"metrics.get", "health.get", "temporal.payloads.decode", "temporal.ui.use", "policy.secrets.rotate"}
}

// operatorsOnly is the name of the rule that denies them to users of other tenants than that of the operators: a key of the configuration.
const operatorsOnly = "policy.operator_tenant"

// Verdict is a decision with its reason.
type Verdict struct {
	// Allowed is the decision.
	Allowed bool
	// Rule is the name of the rule that decided, empty if none did.
	Rule string
	// Policies are the names of the access policies that decided, if they did.
	Policies []string
	// Reason says why, for people.
	Reason string
}

// denied reports whether something denies explicitly.
func (v Verdict) denied() bool { return !v.Allowed && v.Rule != "" }

// NewEngine validates the rules; the error names the invalid rule.
func NewEngine(cfg Config) (*Engine, error) {
	names := map[string]bool{operatorsOnly: true}
	for _, r := range append(append([]Rule(nil), cfg.Rules...), cfg.ServiceRules...) {
		switch {
		case r.Name == "":
			return nil, errors.New("policy: a rule has no name")
		case names[r.Name]:
			return nil, fmt.Errorf("policy: duplicate rule %q", r.Name)
		case len(r.Subjects) == 0 && len(r.Roles) == 0:
			return nil, fmt.Errorf(`policy: rule %q matches no subject or role: give subjects or roles ("*" for all)`, r.Name)
		case len(r.Permissions) == 0 && len(r.Tools) == 0:
			return nil, fmt.Errorf("policy: rule %q has neither permissions nor tools: give one of them", r.Name)
		}
		if err := checkTools(r.Tools); err != nil {
			return nil, fmt.Errorf("policy: rule %q: %w", r.Name, err)
		}
		names[r.Name] = true
	}
	conditions, err := newConditions()
	if err != nil {
		return nil, err
	}
	approvals, err := newApprovals(cfg.Approvals, conditions)
	if err != nil {
		return nil, err
	}
	operators := cfg.OperatorTenant
	if operators == "" {
		operators = authn.DefaultTenant
	}
	known, err := lru.New[ruledBy, applied](principalsKept)
	if err != nil {
		return nil, fmt.Errorf("make cache of principals: %w", err)
	}
	return &Engine{
		users: cfg.Rules, services: cfg.ServiceRules, approvals: approvals, conditions: conditions, operators: operators, applied: known,
	}, nil
}

// permissions returns the globs of the principal's permissions, with "!" before denied ones, and the denying rules by glob. They are empty
// for a principal that no rule matches.
func (e *Engine) permissions(p *policyv1.Principal) (globs []string, deniedBy map[string]string) {
	return permissionsOf(e.rulesFor(p))
}

func permissionsOf(rules []Rule) (globs []string, deniedBy map[string]string) {
	for _, r := range rules {
		for _, g := range r.Permissions {
			if r.Deny {
				g = "!" + g
				if deniedBy == nil {
					deniedBy = map[string]string{}
				}
				if deniedBy[g] == "" {
					deniedBy[g] = r.Name
				}
			}
			globs = append(globs, g)
		}
	}
	return globs, deniedBy
}

// permission decides whether the principal holds a permission.
func (e *Engine) permission(p *policyv1.Principal, permission string) authz.Verdict {
	return e.appliedTo(p).permissions.Decide(permission)
}

// tool decides whether the principal may call the tool.
func (e *Engine) tool(p *policyv1.Principal, tool string) Verdict {
	return decideTool(e.rulesFor(p), p.GetSubject(), tool)
}

// floor returns a function that decides on tools for one principal.
func (e *Engine) floor(p *policyv1.Principal) func(tool string) Verdict {
	rules := e.rulesFor(p)
	return func(tool string) Verdict {
		if len(rules) == 0 {
			return Verdict{}
		}
		return decideTool(rules, p.GetSubject(), tool)
	}
}

// grants returns the name of the first rule that grants a permission.
func (e *Engine) grants(p *policyv1.Principal, permission string) string {
	for _, r := range e.rulesFor(p) {
		if !r.Deny && glob.Any(r.Permissions, permission) {
			return r.Name
		}
	}
	return ""
}

// rulesFor returns the rules that apply to the principal. They must not be modified.
func (e *Engine) rulesFor(p *policyv1.Principal) []Rule { return e.appliedTo(p).rules }

// appliedTo returns the rules that apply to the principal, and what they say about permissions.
func (e *Engine) appliedTo(p *policyv1.Principal) applied {
	key := ruledBy{p.GetKind(), p.GetSubject(), encoded(p.GetRoles()), p.GetTenant() == e.operators}
	if known, ok := e.applied.Get(key); ok {
		return known
	}
	rules := e.findRules(p)
	found := applied{rules, authz.Parse(permissionsOf(rules))}
	if len(key.subject)+len(key.roles) <= maxKey {
		e.applied.Add(key, found)
	}
	return found
}

// encoded returns a text that no other roles have.
func encoded(roles []string) string {
	var b strings.Builder
	for _, role := range roles {
		b.WriteString(strconv.Itoa(len(role)))
		b.WriteByte(':')
		b.WriteString(role)
	}
	return b.String()
}

// findRules finds the rules that apply to the principal. Roles of the mesh and users have separate rules, so that a user token with the
// role "worker" does not get the worker's permissions.
func (e *Engine) findRules(p *policyv1.Principal) []Rule {
	var rules []Rule
	roles := p.GetRoles()
	switch p.GetKind() {
	case policyv1.PrincipalKind_PRINCIPAL_KIND_USER:
		rules = e.users
	case policyv1.PrincipalKind_PRINCIPAL_KIND_SERVICE:
		rules, roles = e.services, []string{p.GetSubject()}
	case policyv1.PrincipalKind_PRINCIPAL_KIND_UNSPECIFIED:
		return nil
	}
	found := make([]Rule, 0, len(rules)+1)
	for _, r := range rules {
		if r.appliesTo(p.GetSubject(), roles) {
			found = append(found, r)
		}
	}
	if p.GetKind() == policyv1.PrincipalKind_PRINCIPAL_KIND_USER && p.GetTenant() != e.operators {
		found = append(found, Rule{Name: operatorsOnly, Permissions: ofMesh(), Deny: true})
	}
	return found
}
