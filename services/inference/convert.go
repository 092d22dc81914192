package inference

import (
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

func (s *Service) modelToProto(m model) *inferencev1.Model {
	window, output := s.cfg.window(m.full())
	return &inferencev1.Model{
		Name: m.full(), Provider: m.provider.name, Default: m.isDefault, SupportsTools: true, Price: s.cfg.price(m.full()),
		ContextWindow: window, MaxOutputTokens: output,
	}
}

func requestFromProto(req *inferencev1.GenerateRequest, model string) provider.Request {
	return provider.Request{
		Model: model, Instructions: req.GetInstructions(), Messages: req.GetMessages(), Tools: req.GetTools(),
		MaxOutputTokens: int(req.GetMaxOutputTokens()), Temperature: req.Temperature, TurnID: req.GetTurnId(), Step: req.GetStep(),
	}
}

// deltaToProto returns the stream message for a piece, nil for an empty one.
func deltaToProto(d provider.Delta) *inferencev1.GenerateResponse {
	switch {
	case d.Text != "":
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: d.Text}}
	case d.Reasoning != "":
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ReasoningDelta{ReasoningDelta: d.Reasoning}}
	case d.Call != nil:
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ToolCallDelta{ToolCallDelta: &inferencev1.ToolCallDelta{
			Index: int32(d.Call.Index), CallId: d.Call.ID, Tool: d.Call.Tool, ArgumentsDelta: d.Call.Arguments,
		}}}
	default:
		return nil
	}
}

func usageToProto(u *provider.Usage) *turnv1.Usage {
	return &turnv1.Usage{
		InputTokens: clamp(u.Input), OutputTokens: clamp(u.Output), CachedInputTokens: clamp(u.CachedInput),
		ReasoningTokens: clamp(u.Reasoning), ModelCalls: 1,
	}
}

// clamp limits a provider's count to an int32.
func clamp(n int64) int32 { return int32(max(0, min(n, 1<<31-1))) }
