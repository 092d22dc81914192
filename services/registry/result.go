package registry

import (
	"fmt"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/registry/execute"
)

func eventToProto(e execute.Event) *registryv1.CallToolResponse {
	switch {
	case e.Decided != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Decided{Decided: &registryv1.Decided{
			DecisionId: e.Decided.ID, Allowed: e.Decided.Allowed, Reason: e.Decided.Reason,
		}}}
	case e.Progress != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Progress{Progress: &registryv1.Progress{
			Progress: e.Progress.Done, Total: e.Progress.Total, Message: e.Progress.Message,
		}}}
	default:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Executing{Executing: &registryv1.Executing{ExecutionId: e.Executing}}}
	}
}

// ended is the last message of a call.
func ended(req *registryv1.CallToolRequest, out execute.Outcome, limit int) *registryv1.CallToolResponse {
	switch {
	case out.Approval != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_ApprovalRequired{ApprovalRequired: out.Approval}}
	case out.Input != nil:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_InputRequired{InputRequired: out.Input}}
	default:
		return &registryv1.CallToolResponse{Event: &registryv1.CallToolResponse_Completed{Completed: completed(req, out, limit)}}
	}
}

// completed is what the model is given: every outcome is a result with content.
func completed(req *registryv1.CallToolRequest, out execute.Outcome, limit int) *registryv1.Completed {
	result := &turnv1.ToolResult{IsError: true}
	if out.Fault != nil {
		result.Content = []*turnv1.ContentPart{textPart(sentence(out.Fault.Text()))}
	} else {
		result = forModel(out.Result, limit)
	}
	result.CallId, result.Tool = req.GetCallId(), req.GetTool()
	return &registryv1.Completed{
		Result: result, LatencyMs: milliseconds(out.Latency), Cached: out.Cached, Code: out.Code,
		ExecutionId: out.ExecutionID, Unresolved: out.Unresolved,
	}
}

// sentence begins a text with a capital letter.
func sentence(text string) string {
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		return string(text[0]-'a'+'A') + text[1:]
	}
	return text
}

// forModel cuts the text of a result to limit bytes in all and says so. The given result is not changed. Structured content is
// as a rule the same thing again, and counts by itself: one beyond the limit is left out.
func forModel(full *turnv1.ToolResult, limit int) *turnv1.ToolResult {
	result := &turnv1.ToolResult{IsError: full.GetIsError(), StructuredContent: full.GetStructuredContent()}
	total := 0
	for _, part := range full.GetContent() {
		total += len(part.GetText())
	}
	if result.StructuredContent != nil && proto.Size(result.StructuredContent) > limit {
		result.StructuredContent, result.Truncated = nil, true
	}
	if total <= limit {
		result.Content = full.GetContent()
		return result
	}
	result.Truncated = true
	shown := 0
	for _, part := range full.GetContent() {
		text, ok := part.GetPart().(*turnv1.ContentPart_Text)
		if !ok {
			result.Content = append(result.Content, part)
			continue
		}
		kept := cut(text.Text, limit-shown)
		shown += len(kept)
		if kept != "" {
			result.Content = append(result.Content, textPart(kept))
		}
	}
	result.Content = append(result.Content, textPart(fmt.Sprintf("[cut: %d of %d bytes shown]", shown, total)))
	return result
}

// cut gives the longest beginning of text with at most n bytes and whole characters.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:max(n, 0)]
}

func textPart(text string) *turnv1.ContentPart {
	return &turnv1.ContentPart{Part: &turnv1.ContentPart_Text{Text: text}}
}
