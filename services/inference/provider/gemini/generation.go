package gemini

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"

	"github.com/windlass-dev/windlass/libs/toolschema"
)

var (
	native   = []feature.OutputMode{feature.OutputNative, feature.OutputTool, feature.OutputPrompt}
	unshaped = []feature.OutputMode{feature.OutputTool, feature.OutputPrompt}
	// missing are fields that the API does not have.
	missing = []feature.Field{feature.ParallelCalls}
)

// features are what models take. Those before Gemini 3 do not call tools in a request with a schema.
var features = []feature.Row{
	{
		Model:   regexp.MustCompile(`^(gemma|learnlm)`),
		Refuses: append([]feature.Field{feature.ReasoningEffort, feature.ToolChoice}, missing...),
		Output:  []feature.OutputMode{feature.OutputPrompt}, OutputBesideTools: []feature.OutputMode{feature.OutputPrompt},
	},
	{
		Model:   regexp.MustCompile(`^gemini-(1|2\.0|robotics)`),
		Refuses: append([]feature.Field{feature.ReasoningEffort}, missing...), Shapes: shapes, Output: native, OutputBesideTools: unshaped,
	},
	{
		Model: regexp.MustCompile(`^gemini-2\.5-pro`), Refuses: missing, Efforts: []string{"minimal", "low", "medium", "high"}, Output: native,
		OutputBesideTools: unshaped, Shapes: shapes,
	},
	{Model: regexp.MustCompile(`^gemini-2`), Refuses: missing, Shapes: shapes, Output: native, OutputBesideTools: unshaped},
	{Refuses: missing, Efforts: []string{"minimal", "low", "medium", "high"}, Shapes: shapes, Output: native, OutputBesideTools: native},
}

// toolConfig says which tools the model calls.
type toolConfig struct {
	Calling callingConfig `json:"functionCallingConfig"`
}

type callingConfig struct {
	Mode    string   `json:"mode"`
	Allowed []string `json:"allowedFunctionNames,omitempty"`
}

// generation is how the model writes its answer.
type generation struct {
	Stop             []string        `json:"stopSequences,omitempty"`
	TopP             *float64        `json:"topP,omitempty"`
	Seed             *int32          `json:"seed,omitempty"`
	PresencePenalty  *float64        `json:"presencePenalty,omitempty"`
	FrequencyPenalty *float64        `json:"frequencyPenalty,omitempty"`
	MediaType        string          `json:"responseMimeType,omitempty"`
	Schema           json.RawMessage `json:"responseSchema,omitempty"`
}

// generate sets it. Choices of tools are refused in requests without any.
func (c *call) generate(out *body) {
	if g := c.req.Generation; g != nil {
		out.Config.generation = generation{
			Stop: g.GetStop(), TopP: g.TopP, Seed: g.Seed, PresencePenalty: g.PresencePenalty, FrequencyPenalty: g.FrequencyPenalty,
		}
		c.reason(g.GetReasoningEffort(), &out.Config)
	}
	if len(out.Tools) > 0 {
		switch tool := c.req.Forces(); {
		case c.req.CallsNone():
			out.Choice = &toolConfig{callingConfig{Mode: "NONE"}}
		case tool == feature.Any:
			out.Choice = &toolConfig{callingConfig{Mode: "ANY"}}
		case tool != "":
			out.Choice = &toolConfig{callingConfig{Mode: "ANY", Allowed: []string{c.names.Wire(tool)}}}
		}
	}
	if o := c.req.Output; o != nil && o.Native {
		out.Config.MediaType = "application/json"
		if fitted, err := toolschema.Fit(o.Schema, &toolschema.Google); err == nil {
			out.Config.Schema = fitted.JSON
		}
	}
}

// shapes reports whether the API can be given a schema: one with properties, none of which had to be renamed, as nothing names them back.
func shapes(schema string) bool {
	fitted, err := toolschema.Fit(schema, &toolschema.Google)
	return err == nil && !fitted.Empty && len(fitted.Keys) == 0
}

// reason sets how much the model thinks: a level, or a number of tokens for older models.
func (c *call) reason(effort string, out *generationConfig) {
	switch {
	case effort == "":
	case strings.HasPrefix(c.req.Model, "gemini-2"):
		budget := feature.Budget(effort)
		out.Thinking = &thinkingConfig{IncludeThoughts: budget > 0 && !c.manner.Plain, Budget: &budget}
	default:
		out.Thinking = &thinkingConfig{IncludeThoughts: !c.manner.Plain, Level: effort}
	}
}
