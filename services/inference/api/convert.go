package api

import (
	"slices"

	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/attempt"
	"github.com/windlass-dev/windlass/services/inference/catalog"
	"github.com/windlass-dev/windlass/services/inference/modelcall"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

func (s *server) modelToProto(m catalog.Model) *inferencev1.Model {
	window, output := s.Models.Window(m)
	features, sheet := s.Models.Features(m), s.Models.Sheet(m)
	var unsupported []string
	for _, f := range features.Refuses {
		unsupported = append(unsupported, string(f))
	}
	return &inferencev1.Model{
		Name: m.FullName(), Provider: m.Provider.Name, Default: m.Default, SupportsTools: sheet.Tools, Price: s.Models.Price(m),
		ContextWindow: window, MaxOutputTokens: output, OutputModes: features.Output, Unsupported: unsupported,
		Capabilities: capabilitiesToProto(sheet),
	}
}

func callFromProto(req *inferencev1.GenerateRequest) attempt.Call {
	return attempt.Call{
		Request: requestFromProto(req), Made: req.GetAttempts(), MaxAttempts: int(req.GetBudget().GetAttempts()),
		Time: req.GetBudget().GetTime().AsDuration(), Principal: req.GetPrincipal(), Session: req.GetSessionId(),
		SwitchOnFilter: req.GetSwitchOnFilter(),
	}
}

func capabilitiesToProto(s provider.Sheet) *inferencev1.Capabilities {
	return &inferencev1.Capabilities{
		Input: catalog.Input(s), MediaTypes: slices.Concat(s.Images.Types, s.Audio.Types, s.Documents.Types),
		MaxImages: int32(s.Images.MaxCount), MaxImageEdge: int32(s.Images.MaxEdge), MaxImageBytes: int64(s.Images.MaxBytes),
		MaxAudioBytes: int64(s.Audio.MaxBytes), MaxDocumentBytes: int64(s.Documents.MaxBytes), Tools: s.Tools,
		StructuredOutput: s.StructuredOutput,
	}
}

// degradeFail refuses content that a model does not take.
const degradeFail = "fail"

func requestFromProto(req *inferencev1.GenerateRequest) provider.Request {
	out := provider.Request{
		Instructions: req.GetInstructions(), Messages: req.GetMessages(), Tools: req.GetTools(), Generation: req.GetGeneration(),
		MaxOutputTokens: int(req.GetMaxOutputTokens()), Temperature: req.Temperature, TurnID: req.GetTurnId(), Step: req.GetStep(),
		RefuseContent: req.GetDegrade() == degradeFail,
	}
	if f := req.GetOutputFormat(); f != nil {
		out.Output = &provider.Output{Schema: f.GetSchemaJson()}
	}
	return out
}

// deltaToProto returns the stream message for a piece that is not empty.
func deltaToProto(d provider.Delta) *inferencev1.GenerateResponse {
	switch {
	case d.Text != "":
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_TextDelta{TextDelta: d.Text}}
	case d.Reasoning != "":
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ReasoningDelta{ReasoningDelta: d.Reasoning}}
	default:
		return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_ToolCallDelta{ToolCallDelta: &inferencev1.ToolCallDelta{
			Index: int32(d.Call.Index), CallId: d.Call.ID, Tool: d.Call.Tool, ArgumentsDelta: d.Call.Arguments,
		}}}
	}
}

func answerToProto(a *modelcall.Answer, by *turnv1.ModelAttempt) *inferencev1.GenerateResponse {
	u := a.Usage
	return &inferencev1.GenerateResponse{Event: &inferencev1.GenerateResponse_Finished{Finished: &inferencev1.Finished{
		FinishReason: a.Reason, Text: a.Text, Reasoning: a.Reasoning, ToolCalls: a.Calls, Model: a.Model, Verbatim: a.Verbatim,
		Warnings: a.Warnings, UsageEstimated: a.UsageEstimated, OutputMode: a.OutputMode, Attempt: by,
		Usage: &turnv1.Usage{
			InputTokens: int32(u.Input), OutputTokens: int32(u.Output), CachedInputTokens: int32(u.CachedInput),
			ReasoningTokens: int32(u.Reasoning), CacheWriteInputTokens: int32(u.CacheWrite), ModelCalls: 1,
		},
	}}}
}
