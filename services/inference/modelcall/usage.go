package modelcall

import (
	"math"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// estimate estimates the usage of a call for providers that do not report it. written is the number of tokens written.
func estimate(req provider.Request, written int) *provider.Usage {
	sum := tokens.Text(req.Instructions) + tokens.PerMessage*len(req.Messages)
	count := func(parts []*turnv1.ContentPart) {
		for _, p := range parts {
			if b := p.GetBlob(); b != nil && provider.IsImage(b.GetMediaType()) {
				sum += tokens.PerImage
				continue
			}
			sum += tokens.Text(provider.PartText(p))
		}
	}
	for _, m := range req.Messages {
		count(m.GetContent())
		count(m.GetToolResult().GetContent())
		for _, c := range m.GetToolCalls() {
			sum += tokens.Text(c.GetTool()) + tokens.Text(c.GetArgumentsJson())
		}
	}
	for _, t := range req.Tools {
		sum += tokens.Text(t.GetName()) + tokens.Text(t.GetDescription()) + tokens.Text(t.GetInputSchemaJson())
	}
	return &provider.Usage{Input: int64(sum), Output: int64(written)}
}

// clamp limits a provider's counts to those of an int32.
func clamp(u provider.Usage) *provider.Usage {
	for _, n := range []*int64{&u.Input, &u.CachedInput, &u.CacheWrite, &u.Output, &u.Reasoning} {
		*n = max(0, min(*n, math.MaxInt32))
	}
	return &u
}
