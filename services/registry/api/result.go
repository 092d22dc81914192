package api

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/enum"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
	"github.com/windlass-dev/windlass/services/registry/source"
)

func eventToProto(e execute.Event) *registryv1.CallToolResponse {
	switch {
	case e.Decided != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Decided{Decided: &registryv1.Decided{
			DecisionId: e.Decided.ID, Allowed: e.Decided.Allowed, Reason: e.Decided.Reason,
		}}}
	case e.Progress != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Progress{Progress: progressToProto(e.Progress)}}
	default:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Executing{
			Executing: &registryv1.Executing{ExecutionId: e.Executing},
		}}
	}
}

func progressToProto(p *source.Progress) *registryv1.Progress {
	return &registryv1.Progress{Progress: p.Done, Total: p.Total, Message: p.Message}
}

// ended returns the last message of a call.
func ended(req *registryv1.CallToolRequest, out execute.Outcome, limit int) *registryv1.CallToolResponse {
	switch {
	case out.Approval != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_ApprovalRequired{ApprovalRequired: out.Approval}}
	case out.Input != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_InputRequired{InputRequired: out.Input}}
	case out.Fault != nil && out.Fault.Reason == faultv1.Reason_REASON_AUTHORIZATION_REQUIRED:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_AuthorizationRequired{
			AuthorizationRequired: &registryv1.AuthorizationRequired{Authorization: authorization(out.Fault), Message: out.Fault.Message},
		}}
	default:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Completed{Completed: completed(req, out, limit)}}
	}
}

// authorization returns what a user has to do before the call can be made for them.
func authorization(f *fault.Error) *turnv1.Authorization {
	return &turnv1.Authorization{
		Source: f.Details[fault.DetailSource], Kind: enum.Parse[turnv1.AuthorizationKind](f.Details[fault.DetailKind]),
		ConnectUrl: f.Details[fault.DetailConnectURL], Scopes: strings.Fields(f.Details[fault.DetailScopes]),
	}
}

// completed returns the result for the model: every outcome is a result with content.
func completed(req *registryv1.CallToolRequest, out execute.Outcome, limit int) *registryv1.Completed {
	result := &turnv1.ToolResult{IsError: true}
	var wholes []*registryv1.Whole
	if out.Fault != nil {
		result.Content = []*turnv1.ContentPart{textPart(sentence(out.Fault.Text()))}
		result.Trusted = out.ExecutionID == "" // nothing was sent: the text is ours
	} else {
		result, wholes = forModel(out.Result, limit, keeper{tool: req.GetTool(), execution: out.ExecutionID})
		result.Trusted = out.Result.GetTrusted()
	}
	result.CallId, result.Tool = req.GetCallId(), req.GetTool()
	return &registryv1.Completed{
		Result: result, LatencyMs: milliseconds(out.Latency), Cached: out.Cached, Code: out.Code,
		ExecutionId: out.ExecutionID, Unresolved: out.Unresolved, Wholes: wholes,
	}
}

// sentence capitalizes the first letter of a text.
func sentence(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}
