package decide

import (
	"fmt"

	"github.com/windlass-dev/windlass/libs/glob"
)

// Rule grants or denies permissions. It applies to principals whose subject matches one of Subjects and one of whose roles matches one of
// Roles; an empty list matches everyone, but a rule needs at least one of the two.
type Rule struct {
	Name        string   `yaml:"name" doc:"Name of the rule, as recorded in decisions."`
	Subjects    []string `yaml:"subjects" doc:"Globs over subjects; empty = any subject."`
	Roles       []string `yaml:"roles" doc:"Globs over roles; empty = any role or none."`
	Permissions []string `yaml:"permissions" doc:"Globs over permissions, for example sessions.* or registry.tools.list."`
	Tools       []string `yaml:"tools" doc:"Globs over tool names, for example notes__*."`
	Deny        bool     `yaml:"deny" doc:"The rule denies instead of granting."`
}

func (r Rule) appliesTo(subject string, roles []string) bool {
	if len(r.Subjects) > 0 && !glob.Any(r.Subjects, subject) {
		return false
	}
	if len(r.Roles) == 0 {
		return true
	}
	for _, role := range roles {
		if glob.Any(r.Roles, role) {
			return true
		}
	}
	return false
}

// decideTool applies rules to a tool: one that denies wins over all that allow.
func decideTool(rules []Rule, subject, tool string) Verdict {
	var allowed *Rule
	for _, r := range rules {
		if !glob.Any(r.Tools, tool) {
			continue
		}
		if r.Deny {
			return Verdict{Rule: r.Name, Reason: fmt.Sprintf("rule %q denies tool %q to %q", r.Name, tool, subject)}
		}
		if allowed == nil {
			allowed = &r
		}
	}
	if allowed == nil {
		return Verdict{Reason: fmt.Sprintf("no rule allows tool %q to %q", tool, subject)}
	}
	return Verdict{Allowed: true, Rule: allowed.Name, Reason: fmt.Sprintf("rule %q allows tool %q", allowed.Name, tool)}
}
