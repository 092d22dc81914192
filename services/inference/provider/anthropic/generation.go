package anthropic

import (
	"encoding/json"
	"regexp"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/services/inference/provider/outputschema"
)

var (
	native   = []feature.OutputMode{feature.OutputNative, feature.OutputTool, feature.OutputPrompt}
	unshaped = []feature.OutputMode{feature.OutputTool, feature.OutputPrompt}
	// missing are fields that the API does not have.
	missing = []feature.Field{feature.Seed, feature.PresencePenalty, feature.FrequencyPenalty}
	// thinks are the fields that a model which thinks does not take.
	thinks = [][2]feature.Field{
		{feature.ReasoningEffort, feature.Temperature},
		{feature.ReasoningEffort, feature.TopP},
		{feature.ReasoningEffort, feature.ToolChoice},
		{feature.Temperature, feature.TopP},
	}
	efforts = []string{feature.EffortNone, "low", "medium", "high"}
)

// adaptive are models that take an effort. Others that think take a number of tokens.
var adaptive = regexp.MustCompile(`claude-(opus|sonnet|haiku|fable|mythos)-([5-9]|4-[6-9]|preview)`)

// features are what models take.
var features = []feature.Row{
	{ // they sample in one way only
		Model: regexp.MustCompile(`claude-opus-4-[78]`), Refuses: append([]feature.Field{feature.Temperature, feature.TopP}, missing...),
		Efforts: efforts, Excludes: thinks, Output: native, OutputBesideTools: native, Shapes: outputschema.Closes,
	},
	{
		Model: regexp.MustCompile(`claude-fable`), Refuses: missing, Efforts: efforts, Excludes: thinks, Output: unshaped,
		OutputBesideTools: unshaped,
	},
	{
		Model: adaptive, Refuses: missing, Efforts: efforts, Excludes: thinks, Output: native, OutputBesideTools: native,
		Shapes: outputschema.Closes,
	},
	{
		Model:   regexp.MustCompile(`claude-(opus|sonnet|haiku)-4-5`),
		Refuses: missing, Excludes: thinks, Output: native, OutputBesideTools: native, Shapes: outputschema.Closes,
	},
	{
		Model: regexp.MustCompile(`claude-(3-7|opus-4|sonnet-4|haiku-4)`), Refuses: missing, Excludes: thinks, Output: unshaped,
		OutputBesideTools: unshaped,
	},
	{
		Model: regexp.MustCompile(`claude-`), Refuses: append([]feature.Field{feature.ReasoningEffort}, missing...), Output: unshaped,
		OutputBesideTools: unshaped,
	},
	{Refuses: missing, Output: unshaped, OutputBesideTools: unshaped},
}

// generation is how the model writes its answer.
type generation struct {
	Stop     []string      `json:"stop_sequences,omitempty"`
	TopP     *float64      `json:"top_p,omitempty"`
	Thinking *thinking     `json:"thinking,omitempty"`
	Output   *outputConfig `json:"output_config,omitempty"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens,omitempty"`
}

type outputConfig struct {
	Effort string  `json:"effort,omitempty"`
	Format *format `json:"format,omitempty"`
}

type format struct {
	Type   string          `json:"type"`
	Schema json.RawMessage `json:"schema"`
}

// choice returns which tools the model calls, nil for those that it likes.
func (c *call) choice() *toolChoice {
	out := &toolChoice{Type: "auto", OneCall: c.req.OneCall()}
	switch tool := c.req.Forces(); {
	case c.req.CallsNone():
		return &toolChoice{Type: "none"}
	case tool == feature.Any:
		out.Type = "any"
	case tool != "":
		out.Type, out.Name = "tool", c.names.Wire(tool)
	case !out.OneCall:
		return nil
	}
	return out
}

// generate sets it. What a model thinks counts as a part of its answer.
func (c *call) generate(out *body) {
	g := c.req.Generation
	if g != nil {
		out.Stop, out.TopP = g.GetStop(), g.TopP
	}
	if o := c.req.Output; o != nil && o.Native {
		closed, _ := outputschema.Closed(o.Schema)
		out.Output = &outputConfig{Format: &format{"json_schema", closed}}
	}
	switch effort := g.GetReasoningEffort(); {
	case effort == "":
	case effort == feature.EffortNone:
		out.Thinking = &thinking{Type: "disabled"}
	case adaptive.MatchString(c.req.Model):
		out.Thinking = &thinking{Type: "adaptive"}
		if out.Output == nil {
			out.Output = &outputConfig{}
		}
		out.Output.Effort = effort
	default:
		total, budget := feature.Within(effort, c.req.MaxOutputTokens)
		if out.MaxTokens = total; budget > 0 {
			out.Thinking = &thinking{Type: "enabled", Budget: budget}
		}
	}
}
