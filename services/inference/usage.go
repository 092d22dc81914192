package inference

import (
	"github.com/windlass-dev/windlass/libs/tokens"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// estimate estimates the usage of a call for providers that do not report it. written is the number of tokens written.
func estimate(req *inferencev1.GenerateRequest, written int) *provider.Usage {
	sum := tokens.Text(req.GetInstructions()) + tokens.PerMessage*len(req.GetMessages())
	count := func(parts []*turnv1.ContentPart) {
		for _, p := range parts {
			if b := p.GetBlob(); b != nil && provider.IsImage(b.GetMediaType()) {
				sum += tokens.PerImage
				continue
			}
			sum += tokens.Text(provider.PartText(p))
		}
	}
	for _, m := range req.GetMessages() {
		count(m.GetContent())
		count(m.GetToolResult().GetContent())
		for _, c := range m.GetToolCalls() {
			sum += tokens.Text(c.GetTool()) + tokens.Text(c.GetArgumentsJson())
		}
	}
	for _, t := range req.GetTools() {
		sum += tokens.Text(t.GetName()) + tokens.Text(t.GetDescription()) + tokens.Text(t.GetInputSchemaJson())
	}
	return &provider.Usage{Input: int64(sum), Output: int64(written)}
}
