package rerun

import (
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// madeCall is a tool call that stands in a turn's conversation.
type madeCall struct {
	call *turnv1.ToolCall
	// message asks for it, in turn: that of the conversation, or the one from which it was taken over.
	message, turn string
	// hash stands for tool and arguments.
	hash string
	// result is nil while there is none; resultID is the message with it.
	result   *turnv1.ToolResult
	resultID string
}

// callsOf lists the tool calls of messages, in the order in which models asked for them.
func callsOf(messages []*turnv1.Message) []madeCall {
	results := map[string]*turnv1.Message{}
	for _, m := range messages {
		if r := m.GetToolResult(); r != nil {
			results[m.GetTurnId()+"\x00"+r.GetCallId()] = m
		}
	}
	var out []madeCall
	for _, m := range messages {
		for _, call := range m.GetToolCalls() {
			r := results[m.GetTurnId()+"\x00"+call.GetCallId()]
			out = append(out, madeCall{
				call: call, message: m.GetId(), turn: m.GetTurnId(), hash: contract.CallHash(call), result: r.GetToolResult(), resultID: r.GetId(),
			})
		}
	}
	return out
}

// place finds a call among others: its hash, and how many calls with that hash there are up to it.
func place(calls []madeCall, message, call string) (hash string, n int) {
	seen := map[string]int{}
	for _, c := range calls {
		seen[c.hash]++
		if c.message == message && c.call.GetCallId() == call {
			return c.hash, seen[c.hash]
		}
	}
	return "", 0
}
