package responses

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
	missing = []feature.Field{
		feature.Stop, feature.Seed, feature.PresencePenalty, feature.FrequencyPenalty,
	}
)

// features are what models take.
var features = []feature.Row{
	{
		Model:   regexp.MustCompile(`^(o\d|gpt-5(-mini|-nano|-pro|-codex)?(-\d{4}.*)?$)`),
		Refuses: append([]feature.Field{feature.Temperature, feature.TopP}, missing...), Output: native, OutputBesideTools: native,
	},
	{
		Model:   regexp.MustCompile(`^(gpt-3\.5|gpt-4($|-)|gpt-4o-2024-05|chatgpt-)`),
		Refuses: append([]feature.Field{feature.ReasoningEffort}, missing...), Output: unshaped, OutputBesideTools: unshaped,
	},
	{
		Model:   regexp.MustCompile(`^(ft:)?gpt-4|^gpt-5[.\d]*-chat`),
		Refuses: append([]feature.Field{feature.ReasoningEffort}, missing...), Output: native, OutputBesideTools: native,
	},
	{Refuses: missing, Output: native, OutputBesideTools: native},
}

// generation is how the model writes its answer.
type generation struct {
	// ToolChoice is a word, or an object that names a function.
	ToolChoice    any        `json:"tool_choice,omitempty"`
	ParallelCalls *bool      `json:"parallel_tool_calls,omitempty"`
	Reasoning     *reasoning `json:"reasoning,omitempty"`
	TopP          *float64   `json:"top_p,omitempty"`
	Text          *text      `json:"text,omitempty"`
}

type reasoning struct {
	Effort string `json:"effort"`
}

type text struct {
	Format format `json:"format"`
}

type format struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict"`
}

// generation returns it. Choices of tools are refused in requests without any.
func (c *call) generation(tools bool) (out generation) {
	g := c.req.Generation
	if g != nil {
		out.TopP = g.TopP
	}
	if effort := g.GetReasoningEffort(); effort != "" {
		out.Reasoning = &reasoning{effort}
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
			out.ToolChoice = map[string]string{"type": "function", "name": c.names.Wire(tool)}
		}
	}
	if o := c.req.Output; o != nil && o.Native {
		schema, strict := outputschema.Strict(o.Schema)
		out.Text = &text{format{"json_schema", outputschema.Name, schema, strict}}
	}
	return out
}
