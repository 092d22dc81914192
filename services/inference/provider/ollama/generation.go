package ollama

import (
	"regexp"

	"github.com/windlass-dev/windlass/services/inference/provider/feature"
)

// missing are fields that the API does not have.
var missing = []feature.Field{feature.ToolChoice, feature.ParallelCalls}

// leveled are models that know levels of thinking. Of others it can only be turned off.
var leveled = regexp.MustCompile(`gpt-oss`)

var (
	native = []feature.OutputMode{feature.OutputNative, feature.OutputPrompt}
	asked  = []feature.OutputMode{feature.OutputPrompt} // beside a schema, no tool can be called
)

// features are what models take.
var features = []feature.Row{
	{Model: leveled, Refuses: missing, Efforts: []string{"low", "medium", "high"}, Output: native, OutputBesideTools: asked},
	{Refuses: missing, Efforts: []string{feature.EffortNone}, Output: native, OutputBesideTools: asked},
}

// sampling is how the model chooses tokens.
type sampling struct {
	Stop             []string `json:"stop,omitempty"`
	TopP             *float64 `json:"top_p,omitempty"`
	Seed             *int32   `json:"seed,omitempty"`
	PresencePenalty  *float64 `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64 `json:"frequency_penalty,omitempty"`
}

func (c *call) sampling() sampling {
	g := c.req.Generation
	if g == nil {
		return sampling{}
	}
	return sampling{g.GetStop(), g.TopP, g.Seed, g.PresencePenalty, g.FrequencyPenalty}
}

// think returns how much the model thinks; nil leaves it to the server.
func (c *call) think() any {
	switch effort := c.req.Generation.GetReasoningEffort(); {
	case effort == feature.EffortNone:
		return false
	case effort != "":
		return effort
	}
	if thinks, _ := c.can.has(thinking); thinks && !c.manner.Plain {
		c.returned = []string{thinking}
		return true
	}
	return nil
}
