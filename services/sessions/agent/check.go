package agent

import (
	"fmt"
	"slices"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/glob"
	"github.com/windlass-dev/windlass/libs/placeholder"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/agentspec"
	"github.com/windlass-dev/windlass/services/sessions/blueprint"
)

// minContextTokens is the least that an agent may allow its conversations: in less there is no room for instructions, tools and an answer.
const minContextTokens = 2000

// Check finds what is wrong with a blueprint by itself, beside what the validation rules of the API's fields say: limits above
// the configured ones, a model without provider, broken globs. Paths begin with the prefix.
func (s *Service) Check(prefix string, a agentspec.Spec) []fault.Field {
	var wrong []fault.Field
	add := func(path, message string) { wrong = append(wrong, fault.Field{Path: prefix + path, Message: message}) }
	if a.Limits != nil {
		for _, f := range s.deps.CheckLimits(*a.Limits) {
			add("limits."+f.Path, f.Message)
		}
	}
	if m := a.Model; m != "" && !placeholder.In(m) && !blueprint.Model(m) {
		add("model", blueprint.WantModel)
	}
	for i, m := range a.Fallbacks {
		if !blueprint.Model(m) {
			add(fmt.Sprintf("fallbacks[%d]", i), blueprint.WantModel)
		}
	}
	if a.Strategy == turnv1.Strategy_STRATEGY_ROUTE && len(a.Agents) == 0 {
		add("agents", `is empty: strategy "route" hands each request to one of these agents`)
	}
	if message := WithoutBanks(a); len(a.Banks) > 0 && message != "" {
		add("banks", message)
	}
	if a.Augment != nil && (a.Hosted() || a.Strategy == turnv1.Strategy_STRATEGY_ROUTE) {
		add("augment", `is not for agents with an executor, nor for the strategy "route"`)
	}
	if n := a.MaxContextTokens; n != 0 && n < minContextTokens {
		add("max_context_tokens", fmt.Sprintf("is %d: at least %d are needed, or 0 for all of the model's window", n, minContextTokens))
	}
	wrong = append(wrong, slices.Concat(checkGeneration(prefix, a), CheckOutput(prefix, a))...)
	for i, pattern := range a.Tools {
		if placeholder.In(pattern) {
			continue // what it stands for is a part of a name
		}
		if err := glob.CheckName(pattern); err != nil {
			add(fmt.Sprintf("tools[%d]", i), err.Error())
		}
	}
	wrong = append(wrong, checkExecutor(prefix, a)...)
	return append(wrong, s.deps.Blueprints.Check(prefix, a)...)
}

// WithoutBanks returns why turns of an agent cannot answer from banks; "" if they can.
func WithoutBanks(a agentspec.Spec) string {
	switch {
	case a.Strategy == turnv1.Strategy_STRATEGY_ROUTE:
		return `is not for the strategy "route": it calls no tools, so nothing is searched`
	case a.Strategy == turnv1.Strategy_STRATEGY_DIRECT && a.Augment == nil:
		return `is not for the strategy "direct" without augment: it calls no tools, so nothing is searched`
	default:
		return ""
	}
}

// checkGeneration finds what is wrong with how an agent's model writes.
func checkGeneration(prefix string, a agentspec.Spec) []fault.Field {
	choice := a.Generation.GetToolChoice()
	switch {
	case a.Generation == nil:
		return nil
	case a.Hosted():
		return []fault.Field{{Path: prefix + "generation", Message: "is not for agents with an executor: it calls models by itself"}}
	case a.Strategy == turnv1.Strategy_STRATEGY_REACT_TEXT && choice != "" && choice != "auto" && choice != "none":
		return []fault.Field{{
			Path: prefix + "generation.tool_choice", Message: `is not for the strategy "react_text": the model writes its calls as text`,
		}}
	default:
		return nil
	}
}

// CheckOutput finds what is wrong with the schema of an agent's answers.
func CheckOutput(prefix string, a agentspec.Spec) []fault.Field {
	if a.OutputSchema == nil {
		return nil
	}
	message := blueprint.CheckOutputSchema(a.OutputSchema)
	switch {
	case message != "":
	case a.Hosted():
		message = "is not for agents with an executor: it writes the answer by itself"
	case a.Strategy == turnv1.Strategy_STRATEGY_REACT_TEXT, a.Strategy == turnv1.Strategy_STRATEGY_ROUTE:
		message = `is not for the strategies "react_text" and "route"`
	default:
		return nil
	}
	return []fault.Field{{Path: prefix + "output_schema", Message: message}}
}
