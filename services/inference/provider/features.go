package provider

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
	FieldTemperature      Field = "temperature"
	FieldToolChoice       Field = "generation.tool_choice"
	FieldParallelCalls    Field = "generation.parallel_tool_calls"
	FieldReasoningEffort  Field = "generation.reasoning_effort"
	FieldStop             Field = "generation.stop"
	FieldTopP             Field = "generation.top_p"
	FieldSeed             Field = "generation.seed"
	FieldPresencePenalty  Field = "generation.presence_penalty"
	FieldFrequencyPenalty Field = "generation.frequency_penalty"
)

// Sampling are the fields about the choice of tokens.
var Sampling = []Field{FieldTemperature, FieldTopP, FieldPresencePenalty, FieldFrequencyPenalty}

// OutputMode is how a model is made to answer in JSON.
type OutputMode = turnv1.OutputMode

// The modes, see turnv1.
const (
	OutputNative = turnv1.OutputMode_OUTPUT_MODE_NATIVE
	OutputTool   = turnv1.OutputMode_OUTPUT_MODE_TOOL
	OutputPrompt = turnv1.OutputMode_OUTPUT_MODE_PROMPT
)

// Features are what some models of a kind take of a request.
type Features struct {
	// Host and Model match the hosts and the names of these models; nil matches all. The host is "" at the kind's own address.
	Host, Model *regexp.Regexp
	// Refuses are the fields that they do not take.
	Refuses []Field
	// Efforts are the values of reasoning_effort that they take; nil for all.
	Efforts []string
	// Excludes are pairs of fields that they do not take together.
	Excludes [][2]Field
	// Output are the modes, the best first, and OutputBesideTools those of requests with tools.
	Output, OutputBesideTools []OutputMode
	// Strict: the native mode takes schemas only that name all members of all objects.
	Strict bool
}

// FeaturesOf returns the first row of a kind's table that matches a model; without one, all is taken.
func (t Traits) FeaturesOf(host, model string) Features {
	for _, row := range t.Features {
		if (row.Host == nil || row.Host.MatchString(host)) && (row.Model == nil || row.Model.MatchString(model)) {
			return row
		}
	}
	return Features{Output: []OutputMode{OutputPrompt}, OutputBesideTools: []OutputMode{OutputPrompt}}
}

// set are the fields that a request sets to something else than what the provider does without them.
func (r Request) set() []Field {
	g := r.Generation
	var out []Field
	for _, f := range []struct {
		field Field
		set   bool
	}{
		{FieldTemperature, r.Temperature != nil},
		{FieldToolChoice, r.Forces() != ""},
		{FieldParallelCalls, r.OneCall()},
		{FieldReasoningEffort, g.GetReasoningEffort() != ""},
		{FieldStop, len(g.GetStop()) > 0},
		{FieldTopP, g != nil && g.TopP != nil},
		{FieldSeed, g != nil && g.Seed != nil},
		{FieldPresencePenalty, g != nil && g.PresencePenalty != nil},
		{FieldFrequencyPenalty, g != nil && g.FrequencyPenalty != nil},
	} {
		if f.set {
			out = append(out, f.field)
		}
	}
	return out
}

// Check returns the error of a request that sets a field which its model does not take, named as the callers know it.
func (f Features) Check(model string, req Request) error {
	set := req.set()
	for _, field := range set {
		if slices.Contains(f.Refuses, field) {
			return rejected("%s does not take %s", model, field).Hint("Leave it out, or use another model.")
		}
	}
	if effort := req.Generation.GetReasoningEffort(); effort != "" && f.Efforts != nil && !slices.Contains(f.Efforts, effort) {
		return rejected("%s does not take %s %q", model, FieldReasoningEffort, effort).
			Hint("Use %s, leave it out, or use another model.", strings.Join(f.Efforts, ", "))
	}
	for _, pair := range f.Excludes {
		if slices.Contains(set, pair[0]) && slices.Contains(set, pair[1]) {
			return rejected("%s does not take %s together with %s", model, pair[0], pair[1]).Hint("Leave one of them out, or use another model.")
		}
	}
	switch name := req.Forces(); {
	case name == "", name == Any && len(req.Tools) > 0, req.offers(name):
		return nil
	default:
		return fault.FailedPrecondition(faultv1.Reason_REASON_MODEL_REJECTED, "%s is %q, but the model can call no such tool",
			FieldToolChoice, name).Hint("Name one of the agent's tools, as the list of tools shows it.")
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
func (r Request) Forces() string {
	switch c := r.Generation.GetToolChoice(); c {
	case auto, None:
		return ""
	default:
		return c
	}
}

func (r Request) offers(tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t *inferencev1.ToolDefinition) bool { return t.GetName() == tool })
}

// CallsNone reports whether the model must call no tool.
func (r Request) CallsNone() bool { return r.Generation.GetToolChoice() == None }

// OneCall reports whether the model must not call several tools at once.
func (r Request) OneCall() bool {
	return r.Generation != nil && r.Generation.ParallelToolCalls != nil && !r.Generation.GetParallelToolCalls()
}

// Reasons reports whether the model is to reason, with an effort.
func (r Request) Reasons() bool {
	return r.Generation.GetReasoningEffort() != "" && r.Generation.GetReasoningEffort() != EffortNone
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

// minBudget is the least that APIs take.
const minBudget = 1024
