package conversation

import (
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Tainted reports whether a model that reads the messages reads content that is not trusted, or what was written after reading such.
func Tainted(messages []*turnv1.Message) bool {
	return slices.ContainsFunc(messages, func(m *turnv1.Message) bool {
		return m.GetTainted() || m.GetToolResult() != nil && !m.GetToolResult().GetTrusted()
	})
}

// WithResults adds a result for every call that has none (its turn was cancelled or stopped at a limit): models refuse a conversation
// with an open call.
func WithResults(history []*turnv1.Message) []*turnv1.Message {
	done := map[string]bool{}
	for _, m := range history {
		if r := m.GetToolResult(); r != nil {
			done[m.GetTurnId()+"\x00"+r.GetCallId()] = true
		}
	}
	out := make([]*turnv1.Message, 0, len(history))
	var open []*turnv1.Message
	for _, m := range history {
		if m.GetRole() != turnv1.Role_ROLE_TOOL { // the results of a message stand right behind it
			out, open = append(out, open...), nil
		}
		out = append(out, m)
		for _, call := range m.GetToolCalls() {
			if !done[m.GetTurnId()+"\x00"+call.GetCallId()] {
				open = append(open, notRun(m, call))
			}
		}
	}
	return append(out, open...)
}

func notRun(m *turnv1.Message, call *turnv1.ToolCall) *turnv1.Message {
	return &turnv1.Message{
		SessionId: m.GetSessionId(), TurnId: m.GetTurnId(), Role: turnv1.Role_ROLE_TOOL,
		ToolResult: ErrorResult(call, "The call was not run: the turn stopped before."),
	}
}

// ErrorResult returns the result of a call that has no other, with the reason for the model.
func ErrorResult(call *turnv1.ToolCall, text string) *turnv1.ToolResult {
	return &turnv1.ToolResult{
		CallId: call.GetCallId(), Tool: call.GetTool(), IsError: true, Trusted: true,
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
	}
}
