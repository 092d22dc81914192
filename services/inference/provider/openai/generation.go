package openai

import (
	"encoding/json"
	"regexp"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/services/inference/provider/outputschema"
)

// official are the hosts of OpenAI and Azure.
var official = regexp.MustCompile(`(^|\.)openai\.com$|\.azure\.com$`)

var (
	native     = []feature.OutputMode{feature.OutputNative, feature.OutputTool, feature.OutputPrompt}
	unshaped   = []feature.OutputMode{feature.OutputTool, feature.OutputPrompt}
	sampleless = append([]feature.Field{feature.Stop}, feature.Sampling...)
)

// features are what models take, in OpenAI's words and in those of servers that are known by their hosts. Of other servers nothing is
// known: what they refuse they refuse themselves.
var features = []feature.Row{
	{
		Host: official, Model: regexp.MustCompile(`^(o\d|gpt-5(-mini|-nano|-pro|-codex)?(-\d{4}.*)?$)`),
		Refuses: sampleless, Output: native, OutputBesideTools: native,
	},
	{
		Host: official, Model: regexp.MustCompile(`^(gpt-3\.5|gpt-4($|-)|gpt-4o-2024-05|chatgpt-)`),
		Refuses: []feature.Field{feature.ReasoningEffort}, Output: unshaped, OutputBesideTools: unshaped,
	},
	{
		Host: official, Model: regexp.MustCompile(`^(ft:)?gpt-4|^gpt-5[.\d]*-chat`),
		Refuses: []feature.Field{feature.ReasoningEffort}, Output: native, OutputBesideTools: native,
	},
	{Host: regexp.MustCompile(`deepseek\.com$`), Refuses: []feature.Field{feature.Seed}, Output: unshaped, OutputBesideTools: unshaped},
	{Host: regexp.MustCompile(`mistral\.ai$`), Refuses: []feature.Field{feature.Seed}, Output: native, OutputBesideTools: native},
	{
		Host:    regexp.MustCompile(`groq\.com$`),
		Refuses: []feature.Field{feature.PresencePenalty, feature.FrequencyPenalty}, Output: native, OutputBesideTools: unshaped,
	},
	{Output: native, OutputBesideTools: native},
}

// generation is how the model writes its answer.
type generation struct {
	// ToolChoice is a word, or an object that names a function.
	ToolChoice       any             `json:"tool_choice,omitempty"`
	ParallelCalls    *bool           `json:"parallel_tool_calls,omitempty"`
	ReasoningEffort  string          `json:"reasoning_effort,omitempty"`
	Stop             []string        `json:"stop,omitempty"`
	TopP             *float64        `json:"top_p,omitempty"`
	Seed             *int32          `json:"seed,omitempty"`
	PresencePenalty  *float64        `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64        `json:"frequency_penalty,omitempty"`
	ResponseFormat   *responseFormat `json:"response_format,omitempty"`
}

type responseFormat struct {
	Type       string     `json:"type"`
	JSONSchema jsonSchema `json:"json_schema"`
}

type jsonSchema struct {
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// generation returns it. Choices of tools are refused in requests without any.
func (c *call) generation(tools bool) generation {
	g := c.req.Generation
	var out generation
	if g != nil {
		out = generation{
			ReasoningEffort: g.GetReasoningEffort(), Stop: g.GetStop(), TopP: g.TopP, Seed: g.Seed, PresencePenalty: g.PresencePenalty,
			FrequencyPenalty: g.FrequencyPenalty,
		}
	}
	if tools {
		if g != nil {
			out.ParallelCalls = g.ParallelToolCalls
		}
		switch tool := c.req.Forces(); {
		case c.req.CallsNone():
			out.ToolChoice = feature.None
		case tool == feature.Any:
			out.ToolChoice = feature.Any
		case tool != "":
			out.ToolChoice = map[string]any{"type": typeFunction, "function": map[string]string{"name": c.names.Wire(tool)}}
		}
	}
	if o := c.req.Output; o != nil && o.Native {
		schema, strict := outputschema.Strict(o.Schema)
		out.ResponseFormat = &responseFormat{"json_schema", jsonSchema{outputschema.Name, schema, strict}}
	}
	return out
}
