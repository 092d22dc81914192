package tool

import (
	executionv1 "github.com/windlass-dev/windlass/proto/gen/windlass/execution/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

func (t *tool) toolCallStarted() *turnv1.ToolCallStarted {
	return &turnv1.ToolCallStarted{
		CallId: t.call.GetCallId(), Tool: t.call.GetTool(), Arguments: argumentsOf(t.call), Effect: t.Pinned.Effect(t.Loaded, t.call.GetTool()),
	}
}

func policyDecided(call *turnv1.ToolCall, d *registryv1.Decided) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_PolicyDecided{PolicyDecided: &turnv1.PolicyDecided{
		DecisionId: d.GetDecisionId(), CallId: call.GetCallId(), Tool: call.GetTool(), Allowed: d.GetAllowed(), Reason: d.GetReason(),
	}}}
}

func toolExecuting(call *turnv1.ToolCall, e *registryv1.Executing) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallExecuting{ToolCallExecuting: &turnv1.ToolCallExecuting{
		CallId: call.GetCallId(), ExecutionId: e.GetExecutionId(),
	}}}
}

func toolProgress(call *turnv1.ToolCall, p *registryv1.Progress) *turnv1.Event {
	return &turnv1.Event{Type: "tool_call.progress", Data: &turnv1.Event_ToolCallProgress{ToolCallProgress: &turnv1.ToolCallProgress{
		CallId: call.GetCallId(), Progress: p.GetProgress(), Total: p.GetTotal(), Message: p.GetMessage(),
	}}}
}

func toolUnresolved(call *turnv1.ToolCall, c *registryv1.Completed) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallUnresolved{ToolCallUnresolved: &turnv1.ToolCallUnresolved{
		CallId: call.GetCallId(), Tool: call.GetTool(), ExecutionId: c.GetExecutionId(),
	}}}
}

func toolCompleted(result *turnv1.ToolResult, c *registryv1.Completed) *turnv1.Event {
	return &turnv1.Event{Data: &turnv1.Event_ToolCallCompleted{ToolCallCompleted: &turnv1.ToolCallCompleted{
		Result: result, LatencyMs: c.GetLatencyMs(), Cached: c.GetCached(), Code: c.GetCode(), ExecutionId: c.GetExecutionId(),
	}}}
}

// artifacts are what a call's result was too long for, to be kept with the session.
func artifacts(call *turnv1.ToolCall, c *registryv1.Completed) []*executionv1.NewArtifact {
	var out []*executionv1.NewArtifact
	for _, whole := range c.GetWholes() {
		out = append(out, &executionv1.NewArtifact{
			Id: whole.GetArtifactId(), Name: whole.GetName(), MediaType: whole.GetMediaType(), Data: whole.GetData(), CallId: call.GetCallId(),
		})
	}
	return out
}
