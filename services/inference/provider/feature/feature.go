// Package feature says what models take of the fields by which an agent sets how its model answers.
package feature

import (
	"regexp"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Field is a field of an agent that says how its model answers.
type Field string

// The fields that a model may not take.
const (
	Temperature      Field = "temperature"
	ToolChoice       Field = "generation.tool_choice"
	ParallelCalls    Field = "generation.parallel_tool_calls"
	ReasoningEffort  Field = "generation.reasoning_effort"
	Stop             Field = "generation.stop"
	TopP             Field = "generation.top_p"
	Seed             Field = "generation.seed"
	PresencePenalty  Field = "generation.presence_penalty"
	FrequencyPenalty Field = "generation.frequency_penalty"
)

// Sampling are the fields about the choice of tokens.
var Sampling = []Field{Temperature, TopP, PresencePenalty, FrequencyPenalty}

// OutputMode is how a model is made to answer in JSON.
type OutputMode = turnv1.OutputMode

// The modes, see turnv1.
const (
	OutputNative = turnv1.OutputMode_OUTPUT_MODE_NATIVE
	OutputTool   = turnv1.OutputMode_OUTPUT_MODE_TOOL
	OutputPrompt = turnv1.OutputMode_OUTPUT_MODE_PROMPT
)

// Row is what some models of a kind take of a request.
type Row struct {
	// Host and Model match the hosts and the names of these models; nil matches all.
	Host, Model *regexp.Regexp
	// Refuses are the fields that they do not take.
	Refuses []Field
	// Efforts are the values of reasoning_effort that they take; nil for all.
	Efforts []string
	// Excludes are pairs of fields that they do not take together.
	Excludes [][2]Field
	// Output are the modes, the best first, and OutputBesideTools those of requests with tools.
	Output, OutputBesideTools []OutputMode
	// Shapes reports whether the native mode can say a schema; nil for all.
	Shapes func(schema string) bool
}

// Of returns the first row of a kind's table that matches a model; without one, all is taken.
func Of(table []Row, host, model string) Row {
	for _, row := range table {
		if (row.Host == nil || row.Host.MatchString(host)) && (row.Model == nil || row.Model.MatchString(model)) {
			return row
		}
	}
	return Row{Output: []OutputMode{OutputPrompt}, OutputBesideTools: []OutputMode{OutputPrompt}}
}

// Request is what is checked of a request.
type Request struct {
	// Temperature and Generation are set by the agent; nil leaves them to the provider.
	Temperature *float64
	Generation  *turnv1.Generation
	// Tools are offered to the model.
	Tools []*inferencev1.ToolDefinition
}

// set are the fields that a request sets to something else than what the provider does without them.
func (r Request) set() []Field {
	g := r.Generation
	var out []Field
	for _, f := range []struct {
		field Field
		set   bool
	}{
		{Temperature, r.Temperature != nil},
		{ToolChoice, Forces(g) != ""},
		{ParallelCalls, OneCall(g)},
		{ReasoningEffort, g.GetReasoningEffort() != ""},
		{Stop, len(g.GetStop()) > 0},
		{TopP, g != nil && g.TopP != nil},
		{Seed, g != nil && g.Seed != nil},
		{PresencePenalty, g != nil && g.PresencePenalty != nil},
		{FrequencyPenalty, g != nil && g.FrequencyPenalty != nil},
	} {
		if f.set {
			out = append(out, f.field)
		}
	}
	return out
}

// Check returns the error of a request that sets a field which its model does not take, named as the callers know it.
func (f Row) Check(model string, req Request) error {
	set := req.set()
	for _, field := range set {
		if slices.Contains(f.Refuses, field) {
			return refused("%s does not take %s", model, field).Hint("Leave it out, or use another model.")
		}
	}
	if effort := req.Generation.GetReasoningEffort(); effort != "" && f.Efforts != nil && !slices.Contains(f.Efforts, effort) {
		return refused("%s does not take %s %q", model, ReasoningEffort, effort).
			Hint("Use %s, leave it out, or use another model.", strings.Join(f.Efforts, ", "))
	}
	for _, pair := range f.Excludes {
		if slices.Contains(set, pair[0]) && slices.Contains(set, pair[1]) {
			return refused("%s does not take %s together with %s", model, pair[0], pair[1]).Hint("Leave one of them out, or use another model.")
		}
	}
	switch name := Forces(req.Generation); {
	case name == "", name == Any && len(req.Tools) > 0, req.offers(name):
		return nil
	default:
		return refused("%s is %q, but the model can call no such tool", ToolChoice, name).
			Hint("Name one of the agent's tools, as the list of tools shows it.")
	}
}

// Tool choices beside names of tools.
const (
	// Any is that of a model that must call a tool.
	Any = "required"
	// None is that of a model that must call none.
	None = "none"
	auto = "auto"
)

// Forces returns the tool that the model must call, Any for one that it chooses, "" if it need not call any.
func Forces(g *turnv1.Generation) string {
	switch c := g.GetToolChoice(); c {
	case auto, None:
		return ""
	default:
		return c
	}
}

func (r Request) offers(tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t *inferencev1.ToolDefinition) bool { return t.GetName() == tool })
}

// OneCall reports whether the model must not call several tools at once.
func OneCall(g *turnv1.Generation) bool {
	return g != nil && g.ParallelToolCalls != nil && !g.GetParallelToolCalls()
}

// EffortNone is the reasoning effort of a model that is not to reason.
const EffortNone = "none"

// Budget returns how many tokens a model may think, for APIs that take a number.
func Budget(effort string) int {
	switch effort {
	case EffortNone:
		return 0
	case "minimal":
		return minBudget
	case "low":
		return 2048
	case "medium":
		return 8192
	default:
		return 24_576
	}
}

// Limits of thoughts.
const (
	// minBudget is the least that APIs take, and minAnswer what is left for the answer.
	minBudget, minAnswer = 1024, 1024
	// defaultAnswer is the limit of an answer behind thoughts if there is none, and maxTotal that of both: no model that is given a number
	// takes less.
	defaultAnswer, maxTotal = 8192, 32_000
)

// Within returns how many tokens a model may think and write in all, and think of them, for APIs that count both as the answer. limit is
// that of the request, 0 for none. It may leave no room to think.
func Within(effort string, limit int) (total, budget int) {
	if total = limit; total <= 0 {
		total = min(defaultAnswer+Budget(effort), maxTotal)
	}
	if budget = min(Budget(effort), total-minAnswer); budget < minBudget {
		budget = 0
	}
	return total, budget
}

func refused(format string, args ...any) *fault.Error {
	return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, format, args...)
}
