package blueprint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/placeholder"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// Facts are what placeholders stand for in one turn.
type Facts struct {
	// SessionID and TurnID name the turn.
	SessionID, TurnID string
	// Time is when the turn was accepted.
	Time time.Time
	// Params are the session's.
	Params *structpb.Struct
	// Principal is whom the turn runs for.
	Principal *policyv1.Principal
	// Getenv reads the environment.
	Getenv func(string) string

	agent    string // the agent's id
	revision uint32
}

// Needed reports whether an agent must be resolved at all.
func Needed(a agentspec.Spec) bool {
	if len(a.InstructionRules) > 0 || strings.Contains(a.Instructions, "$") || placeholder.In(a.Model) || ExecutorNeeded(a) {
		return true
	}
	return slices.ContainsFunc(a.Tools, placeholder.In)
}

// Resolve returns the blueprint of an agent for one turn: rules are applied and gone, and placeholders replaced; instructions,
// and the executor's texts if ExecutorNeeded, are sealed for the worker, see placeholder.Finish. The problems are for people and
// name placeholders, never values.
func (c Checker) Resolve(of store.Agent, f Facts) (agentspec.Spec, []string) {
	if !Needed(of.Spec) {
		return of.Spec, nil
	}
	f.agent, f.revision = of.ID, of.Revision
	spec := of.Spec.Clone()
	a := &spec
	parts := choose(a, f.Principal)
	a.Instructions, a.InstructionRules = "", nil
	var problems []string
	look := func(s slot) placeholder.Lookup {
		return func(r placeholder.Ref) (string, *placeholder.Error) { return c.value(s, a, r, f) }
	}
	report := func(path string, wrong []*placeholder.Error) {
		for _, e := range wrong {
			problems = append(problems, path+": "+e.Error())
		}
	}
	for i, text := range parts {
		sealed, wrong := placeholder.Begin(text, look(slot{sealed: true}), contract.RunnerNamespace)
		report("instructions", wrong)
		parts[i] = sealed
	}
	a.Instructions = strings.Join(parts, "\n\n")
	for _, s := range slots(a)[1:] { // the first is the instructions
		text, wrong := placeholder.Resolve(*s.text, look(s))
		if s.path == "model" && len(wrong) == 0 && text != *s.text && !Model(text) {
			wrong = []*placeholder.Error{{Placeholder: *s.text, Message: `does not come to a model "provider/model"`}}
		}
		report(s.path, wrong)
		*s.text = text
	}
	if ExecutorNeeded(of.Spec) {
		c.resolveExecutor(a, f, report)
	}
	return spec, problems
}

// WantModel says what a model is named like.
const WantModel = `want "provider/model", for example "openai/gpt-4o"`

// Model reports whether a text names a model, "provider/model".
func Model(text string) bool {
	provider, model, ok := strings.Cut(text, "/")
	return ok && provider != "" && model != "" && !strings.ContainsRune(text, 0)
}

// choose returns the instructions for a user: the agent's own, or those that replace them, and those that are added.
func choose(a *agentspec.Spec, p *policyv1.Principal) []string {
	base := a.Instructions
	var added []string
	for _, r := range a.InstructionRules {
		if !speaksOf(r, p) {
			continue
		}
		if r.Mode == agentspec.ModeReplace {
			base = r.Instructions
		} else {
			added = append(added, r.Instructions)
		}
	}
	if base == "" {
		return added
	}
	return append([]string{base}, added...)
}

func speaksOf(r agentspec.InstructionRule, p *policyv1.Principal) bool {
	if len(r.Roles) > 0 && !anyFits(r.Roles, p.GetRoles()) {
		return false
	}
	if r.Claim == "" {
		return len(r.Roles) > 0
	}
	value, ok := placeholder.Find(canon.FromStruct(p.GetClaims()), r.Claim)
	if !ok || value == nil {
		return false
	}
	if len(r.Values) == 0 {
		return true
	}
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = placeholder.Text(v)
	}
	return anyFits(r.Values, texts)
}

func anyFits(patterns, texts []string) bool {
	for _, text := range texts {
		if glob.Any(patterns, text) {
			return true
		}
	}
	return false
}

// namePart is what may stand in the pattern of a tool's name: a value must not make a pattern wider than its author wrote it.
var namePart = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// value returns what a placeholder of an agent stands for.
func (c Checker) value(s slot, a *agentspec.Spec, r placeholder.Ref, f Facts) (string, *placeholder.Error) {
	if wrong := c.ref(s, canon.FromStruct(a.ParamsSchema), r); wrong != nil { // the configuration may have changed since the agent was stored
		return "", wrong
	}
	text, wrong := f.value(r)
	if wrong == nil && s.part && !namePart.MatchString(text) {
		wrong = placeholder.Wrong(r, `stands for something that is no part of a tool's name: want letters, digits, "_" and "-"`)
	}
	return text, wrong
}

func (f Facts) value(r placeholder.Ref) (string, *placeholder.Error) {
	switch r.Namespace {
	case nsParams:
		if v, ok := placeholder.Find(canon.FromStruct(f.Params), r.Path); ok {
			return placeholder.Text(v), nil
		}
		return "", placeholder.Wrong(r, "has no value: the session has no such param and the params_schema no default")
	case nsEnv:
		if v := f.Getenv(r.Path); v != "" {
			return v, nil
		}
		return "", placeholder.Wrong(r, "has no value: the variable is not set where the sessions role runs")
	case nsScope:
		return f.scope(r)
	case contract.RunnerNamespace:
		return "", nil // the worker's
	default:
		return f.runtime(r.Path), nil
	}
}

func (f Facts) scope(r placeholder.Ref) (string, *placeholder.Error) {
	switch r.Path {
	case "subject":
		return f.Principal.GetSubject(), nil
	case "tenant":
		return f.Principal.GetTenant(), nil
	case "roles":
		roles := f.Principal.GetRoles()
		if roles == nil {
			roles = []string{}
		}
		return placeholder.Text(roles), nil
	}
	v, ok := placeholder.Find(canon.FromStruct(f.Principal.GetClaims()), strings.TrimPrefix(r.Path, "claims."))
	if !ok || v == nil {
		return "", placeholder.Wrong(r, "has no value: the user %q has no such claim", f.Principal.GetSubject())
	}
	return placeholder.Text(v), nil
}

func (f Facts) runtime(name string) string {
	switch name {
	case "session_id":
		return f.SessionID
	case "turn_id":
		return f.TurnID
	case "agent_id":
		return f.agent
	case "agent_revision":
		return strconv.FormatUint(uint64(f.revision), 10)
	case "tenant":
		return f.Principal.GetTenant()
	case "subject":
		return f.Principal.GetSubject()
	case "time":
		return f.Time.UTC().Format(time.RFC3339)
	default: // "date": the names were checked
		return f.Time.UTC().Format(time.DateOnly)
	}
}
