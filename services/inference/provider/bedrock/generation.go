package bedrock

import (
	"regexp"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/services/inference/provider/outputschema"
)

var (
	native   = []feature.OutputMode{feature.OutputNative, feature.OutputTool, feature.OutputPrompt}
	unshaped = []feature.OutputMode{feature.OutputTool, feature.OutputPrompt}
	open     = []feature.OutputMode{feature.OutputNative, feature.OutputPrompt}
	asked    = []feature.OutputMode{feature.OutputPrompt}
	// missing are fields that the API does not have.
	missing = []feature.Field{
		feature.ParallelCalls, feature.Seed, feature.PresencePenalty, feature.FrequencyPenalty,
	}
	// thinks are the fields that a model which thinks does not take.
	thinks = [][2]feature.Field{
		{feature.ReasoningEffort, feature.Temperature},
		{feature.ReasoningEffort, feature.TopP},
		{feature.ReasoningEffort, feature.ToolChoice},
		{feature.Temperature, feature.TopP},
	}
)

var (
	// openWeights take an effort as OpenAI's models do.
	openWeights = regexp.MustCompile(`gpt-oss`)
	// adaptive are models of Anthropic that take an effort. Others that think take a number of tokens.
	adaptive = regexp.MustCompile(`anthropic\.claude-(opus|sonnet|haiku)-([5-9]|4-[6-9])`)
	efforts  = []string{feature.EffortNone, "low", "medium", "high"}
)

// features are what models take. The choice of a tool is only for some.
var features = []feature.Row{
	{
		Model: adaptive, Refuses: missing, Efforts: efforts, Excludes: thinks, Output: native, OutputBesideTools: native,
		Shapes: outputschema.Closes,
	},
	{
		Model:   regexp.MustCompile(`anthropic\.claude-(opus|sonnet|haiku)-4-5`),
		Refuses: missing, Excludes: thinks, Output: native, OutputBesideTools: native, Shapes: outputschema.Closes,
	},
	{
		Model:   regexp.MustCompile(`anthropic\.claude-(3-7|opus-4|sonnet-4)`),
		Refuses: missing, Excludes: thinks, Output: unshaped, OutputBesideTools: unshaped,
	},
	{
		Model:   regexp.MustCompile(`anthropic\.claude|amazon\.nova`),
		Refuses: append([]feature.Field{feature.ReasoningEffort}, missing...), Output: unshaped, OutputBesideTools: unshaped,
	},
	{
		Model:   openWeights,
		Refuses: append([]feature.Field{feature.ToolChoice}, missing...), Efforts: []string{"low", "medium", "high"}, Output: open,
		OutputBesideTools: asked, Shapes: outputschema.Closes,
	},
	{
		Refuses: append([]feature.Field{feature.ToolChoice, feature.ReasoningEffort}, missing...), Output: open,
		OutputBesideTools: asked, Shapes: outputschema.Closes,
	},
}

// toolChoice says which tools the model calls.
type toolChoice struct {
	Any  *struct{}   `json:"any,omitempty"`
	Tool *chosenTool `json:"tool,omitempty"`
}

type chosenTool struct {
	Name string `json:"name"`
}

// outputConfig is the form of the answer.
type outputConfig struct {
	Format textFormat `json:"textFormat"`
}

type textFormat struct {
	Type      string    `json:"type"`
	Structure structure `json:"structure"`
}

type structure struct {
	JSONSchema jsonSchema `json:"jsonSchema"`
}

// jsonSchema has a schema as text.
type jsonSchema struct {
	Name   string `json:"name"`
	Schema string `json:"schema"`
}

// generate sets how the model writes its answer. What Claude thinks counts as a part of its answer.
func (c *call) generate(out *body) {
	req := c.req
	config := inference{MaxTokens: max(req.MaxOutputTokens, 0), Temperature: req.Temperature}
	if g := req.Generation; g != nil {
		config.TopP, config.Stop = g.TopP, g.GetStop()
	}
	switch effort := req.Generation.GetReasoningEffort(); {
	case effort == "":
	case openWeights.MatchString(req.Model):
		out.Fields = map[string]any{"reasoning_effort": effort}
	case effort == feature.EffortNone:
	case adaptive.MatchString(req.Model):
		out.Fields = map[string]any{
			"thinking": map[string]any{"type": "adaptive"}, "output_config": map[string]any{"effort": effort},
		}
	default:
		total, budget := feature.Within(effort, req.MaxOutputTokens)
		if config.MaxTokens = total; budget > 0 {
			out.Fields = map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": budget}}
		}
	}
	if config.MaxTokens > 0 || config.Temperature != nil || config.TopP != nil || config.Stop != nil {
		out.Config = &config
	}
	if len(c.tools) > 0 {
		switch tool := req.Forces(); {
		case tool == feature.Any:
			out.Tools.Choice = &toolChoice{Any: &struct{}{}}
		case tool != "":
			out.Tools.Choice = &toolChoice{Tool: &chosenTool{c.names.Wire(tool)}}
		}
	}
	if o := req.Output; o != nil && o.Native {
		closed, _ := outputschema.Closed(o.Schema)
		out.Output = &outputConfig{textFormat{"json_schema", structure{jsonSchema{outputschema.Name, string(closed)}}}}
	}
}
