// Package access compiles access policies and evaluates them: which policies match a principal, and what they allow and deny.
package access

import (
	"errors"
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/condition"
	"github.com/windlass-dev/windlass/libs/glob"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/policy/store"
)

// Fault is what is wrong with a field of a policy, and what to do.
type Fault struct{ Field, Message string }

// Policy is a compiled policy. It never changes and is safe for concurrent use.
type Policy struct {
	Name string
	Spec store.Spec

	matchers   []matcher
	expression *condition.Condition
	broken     string // why a stored policy does not compile
	version    uint64 // distinguishes stored policies of one tenant, 0 for others
	size       int    // what its regular expressions are compiled to
}

// Compile checks and compiles a policy. The faults' paths are relative to it; none = it is valid.
func Compile(name string, spec store.Spec) (*Policy, []Fault) {
	p := &Policy{Name: name, Spec: spec}
	var faults []Fault
	var left budget
	for i, m := range spec.Matchers {
		made, found := newMatcher(m, &left)
		for _, f := range found {
			faults = append(faults, Fault{fmt.Sprintf("matchers[%d].%s", i, f.Field), f.Message})
		}
		p.matchers = append(p.matchers, made)
	}
	if spec.Expression != "" {
		program, err := compileExpression(spec.Expression, &left)
		if err != nil {
			faults = append(faults, Fault{"expression", err.Error()})
		}
		p.expression = program
	}
	p.size = left.used
	if len(spec.Matchers) == 0 && spec.Expression == "" {
		faults = append(faults, Fault{"matchers", "a policy needs a matcher or an expression; " +
			`for all users, write a matcher with path "$subject", operator matches and value ".*"`})
	}
	return p, append(faults, checkGrants(spec)...)
}

func checkGrants(spec store.Spec) (faults []Fault) {
	for i, g := range spec.Tools {
		if err := glob.CheckName(g); err != nil {
			faults = append(faults, Fault{fmt.Sprintf("tools[%d]", i), err.Error()})
		}
	}
	for i, g := range spec.Permissions {
		if err := glob.CheckName(g); err != nil {
			faults = append(faults, Fault{fmt.Sprintf("permissions[%d]", i), "only * and ? stand for something, such as sessions.*"})
		}
	}
	for i, g := range spec.ToolGroups {
		if strings.ContainsAny(g, "*?:\x00") {
			faults = append(faults, Fault{fmt.Sprintf("tool_groups[%d]", i), "write the name of a tool group, without group: and wildcards"})
		}
	}
	if len(spec.ToolGroups)+len(spec.Tools)+len(spec.Permissions) == 0 {
		faults = append(faults, Fault{"tools", "the policy grants nothing; give tool_groups, tools or permissions"})
	}
	if spec.Effect != store.Allow && spec.Effect != store.Deny {
		faults = append(faults, Fault{"effect", "say allow or deny"})
	}
	return faults
}

// stored compiles a stored policy. One that a newer version of the software does not accept any more never allows, and denies everyone.
func stored(p store.Policy) *Policy {
	out, faults := Compile(p.Name, p.Spec)
	out.version = p.PolicyRevision
	if len(faults) > 0 {
		out.broken = faults[0].Field + ": " + faults[0].Message
	}
	return out
}

func (p *Policy) denies() bool { return p.Spec.Effect == store.Deny }

// MatcherResult is the result of one matcher, or of the expression.
type MatcherResult struct {
	// Matcher is the condition; nil for the expression.
	Matcher *store.Matcher
	OK      bool
	// Why says why it does not match.
	Why string
}

// results evaluates all conditions for a principal.
func (p *Policy) results(who *policyv1.Principal) (all []MatcherResult) {
	for _, m := range p.matchers {
		ok, why := m.matches(who)
		all = append(all, MatcherResult{&m.spec, ok, why})
	}
	if p.expression != nil {
		ok, why := p.holds(who)
		all = append(all, MatcherResult{nil, ok, why})
	}
	return all
}

// matches reports whether the policy applies to a principal.
func (p *Policy) matches(who *policyv1.Principal) bool {
	if p.Spec.Disabled {
		return false
	}
	if p.broken != "" {
		return p.denies()
	}
	for _, m := range p.matchers {
		if ok, _ := m.matches(who); !ok {
			return false
		}
	}
	if p.expression == nil {
		return true
	}
	ok, _ := p.holds(who)
	return ok
}

// holds evaluates the expression. An error is no match. Too much work counts against the principal, whose claims may be made to cause it.
func (p *Policy) holds(who *policyv1.Principal) (ok bool, why string) {
	yes, err := evaluate(p.expression, who)
	switch {
	case errors.Is(err, condition.ErrCost) && p.denies():
		return true, "the expression takes too long, and the policy denies"
	case err != nil:
		return false, "the expression fails: " + err.Error()
	case !yes:
		return false, "the expression is false"
	}
	return true, ""
}
