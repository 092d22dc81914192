// Package blueprint turns an agent as it was written into the one that a turn runs with: params are checked against its schema,
// instructions chosen by role and claim, and placeholders replaced by values. Check refuses beforehand what can never be
// resolved.
package blueprint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/placeholder"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Namespaces of placeholders beside contract.RunnerNamespace.
const (
	nsRuntime = "runtime" // about session and turn
	nsParams  = "params"  // the session's
	nsScope   = "scope"   // whom the turn runs for
	nsEnv     = "env"     // the environment of the sessions role, as far as it is allowed
)

// names lists what there is in the namespaces that have fixed names.
func names(namespace string) []string {
	switch namespace {
	case nsRuntime:
		return []string{"session_id", "turn_id", "agent_id", "agent_revision", "tenant", "subject", "time", "date"}
	case nsScope:
		return []string{"subject", "tenant", "roles", "claims.NAME"}
	case contract.RunnerNamespace:
		return contract.RunnerNames()
	default:
		return nil
	}
}

// slot is a text of an agent that may have placeholders.
type slot struct {
	path string // of the field
	text *string
	// sealed: the text goes to the worker, which puts ${runner.*} in. Such a text may hold secrets of the environment: it is stored nowhere.
	sealed bool
	// part: values must be parts of names.
	part bool
}

// slots lists them, in the order of their fields.
func slots(a *agentspec.Spec) []slot {
	out := []slot{{path: "instructions", text: &a.Instructions, sealed: true}, {path: "model", text: &a.Model}}
	for i := range a.Tools {
		out = append(out, slot{path: fmt.Sprintf("tools[%d]", i), text: &a.Tools[i], part: true})
	}
	for i := range a.InstructionRules {
		out = append(out, slot{
			path: fmt.Sprintf("instruction_rules[%d].instructions", i), text: &a.InstructionRules[i].Instructions,
			sealed: true,
		})
	}
	return out
}

// Checker refuses agents.
type Checker struct {
	// Env names the variables that placeholders may read.
	Env []string
}

// Check finds what is wrong with an agent's params schema, rules and placeholders. Paths begin with the prefix.
func (c Checker) Check(prefix string, a agentspec.Spec) []fault.Field {
	var wrong []fault.Field
	if message := checkSchema(a.ParamsSchema); message != "" {
		wrong = append(wrong, fault.Field{Path: prefix + "params_schema", Message: message})
	}
	for i, r := range a.InstructionRules {
		path := fmt.Sprintf("%sinstruction_rules[%d]", prefix, i)
		switch {
		case len(r.Roles) == 0 && r.Claim == "":
			wrong = append(wrong, fault.Field{Path: path, Message: `matches no user: give roles or a claim (roles: ["*"] = every user with a role)`})
		case len(r.Values) > 0 && r.Claim == "":
			wrong = append(wrong, fault.Field{Path: path + ".values", Message: "needs a claim whose values they are"})
		}
	}
	schema := canon.FromStruct(a.ParamsSchema)
	for _, s := range slots(&a) {
		for _, e := range placeholder.Check(*s.text, func(r placeholder.Ref) *placeholder.Error { return c.ref(s, schema, r) }) {
			wrong = append(wrong, fault.Field{Path: prefix + s.path, Message: e.Error()})
		}
	}
	return append(wrong, c.checkExecutor(prefix, &a)...)
}

// ref checks one placeholder.
func (c Checker) ref(s slot, schema map[string]any, r placeholder.Ref) *placeholder.Error {
	switch r.Namespace {
	case nsParams:
		switch {
		case len(schema) == 0:
			return placeholder.Wrong(r, "is unknown: the agent has no params_schema")
		case !knows(schema, schema, r.Path, false):
			return placeholder.Wrong(r, "is unknown: the params_schema has no such property")
		}
		return nil
	case nsEnv:
		switch {
		case !s.sealed:
			return placeholder.Wrong(r,
				"is not allowed here: the value would be stored with the turn; variables of the environment may stand in instructions and in "+
					"executors only")
		case !slices.Contains(c.Env, r.Path):
			return placeholder.Wrong(r, "is not allowed: name the variable in sessions.placeholder_env of the configuration")
		}
		return nil
	case nsScope:
		if name, ok := strings.CutPrefix(r.Path, "claims."); ok && name != "" {
			return nil
		}
	case contract.RunnerNamespace:
		if !s.sealed {
			return placeholder.Wrong(r, "is not allowed here: it is known only where a step runs; use it in instructions or in an executor")
		}
	case nsRuntime:
	default:
		return placeholder.Wrong(r,
			"is unknown: there are ${params.*}, ${runtime.*}, ${scope.*}, ${env.*} and ${runner.*}; write $${ where none is meant")
	}
	if known := names(r.Namespace); !slices.Contains(known, r.Path) {
		return placeholder.Wrong(r, "is unknown: ${%s.*} has %s", r.Namespace, strings.Join(known, ", "))
	}
	return nil
}
