package inference

import (
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// What an estimate assumes, in the middle of what English text and JSON need.
const (
	bytesPerToken    = 4
	tokensPerMessage = 4    // what separates messages
	tokensPerImage   = 1000 // about what providers charge for one of medium size
)

// estimate counts tokens by length, for providers that do not tell.
func estimate(req *inferencev1.GenerateRequest, written int) *provider.Usage {
	size := len(req.GetInstructions())
	tokens := tokensPerMessage * len(req.GetMessages())
	count := func(parts []*turnv1.ContentPart) {
		for _, p := range parts {
			if b := p.GetBlob(); b != nil && provider.IsImage(b.GetMediaType()) {
				tokens += tokensPerImage
				continue
			}
			size += len(provider.PartText(p))
		}
	}
	for _, m := range req.GetMessages() {
		count(m.GetContent())
		count(m.GetToolResult().GetContent())
		for _, c := range m.GetToolCalls() {
			size += len(c.GetTool()) + len(c.GetArgumentsJson())
		}
	}
	for _, t := range req.GetTools() {
		size += len(t.GetName()) + len(t.GetDescription()) + len(t.GetInputSchemaJson())
	}
	return &provider.Usage{Input: int64(tokens + ceil(size)), Output: int64(ceil(written))}
}

func ceil(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }
