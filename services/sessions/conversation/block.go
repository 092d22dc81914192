package conversation

import (
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// block is what stays together in a window: one message, or an assistant message with the results of its tool calls.
type block struct {
	messages []*turnv1.Message
	size     int
}

// blocks joins assistant messages with the results of their calls, in the order of the calls. Results without a call are left out.
func blocks(messages []placed) []block {
	type callOf struct{ turn, call string }
	results := map[callOf]placed{}
	for _, p := range messages {
		if m := p.message; m.GetRole() == turnv1.Role_ROLE_TOOL {
			results[callOf{m.GetTurnId(), m.GetToolResult().GetCallId()}] = p
		}
	}
	out := make([]block, 0, len(messages))
	for _, p := range messages {
		m := p.message
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			continue
		}
		b := block{messages: []*turnv1.Message{m}, size: p.size}
		for _, call := range m.GetToolCalls() {
			r, ok := results[callOf{m.GetTurnId(), call.GetCallId()}]
			if !ok {
				r.message = notExecuted(m, call)
				r.size = proto.Size(r.message)
			}
			b.messages = append(b.messages, r.message)
			b.size += r.size
		}
		out = append(out, b)
	}
	return out
}

// ResultsAtCalls moves the results of calls right behind the message that asks for them, in the order of the calls, as models
// read them. Input that came while the calls ran stands behind them. No message is left out or added.
func ResultsAtCalls(messages []*turnv1.Message) []*turnv1.Message {
	key := func(m *turnv1.Message, call string) string { return m.GetTurnId() + "\x00" + call }
	calls, results := map[string]bool{}, map[string]*turnv1.Message{}
	for _, m := range messages {
		for _, c := range m.GetToolCalls() {
			calls[key(m, c.GetCallId())] = true
		}
		if r := m.GetToolResult(); r != nil && calls[key(m, r.GetCallId())] {
			results[key(m, r.GetCallId())] = m
		}
	}
	out, placed := make([]*turnv1.Message, 0, len(messages)), map[string]bool{}
	for _, m := range messages {
		if r := m.GetToolResult(); r != nil && results[key(m, r.GetCallId())] == m {
			continue // it stands at its call
		}
		out = append(out, m)
		for _, c := range m.GetToolCalls() {
			id := key(m, c.GetCallId())
			if r := results[id]; r != nil && !placed[id] {
				placed[id] = true
				out = append(out, r)
			}
		}
	}
	return out
}

// notExecuted returns a result for a call that has none because the turn ended before. Providers refuse a conversation without it.
func notExecuted(m *turnv1.Message, call *turnv1.ToolCall) *turnv1.Message {
	text := "not executed: the turn ended before this call"
	return &turnv1.Message{
		SessionId: m.GetSessionId(), TurnId: m.GetTurnId(), Role: turnv1.Role_ROLE_TOOL, CreateTime: m.GetCreateTime(), Seq: m.GetSeq(),
		ToolResult: &turnv1.ToolResult{
			CallId: call.GetCallId(), Tool: call.GetTool(), IsError: true, Trusted: true,
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
		},
	}
}

// fit returns the newest blocks that fit, the newest one in any case, and reports whether it left any out. A truncated
// conversation begins with a message of the user: with that of the turn if it is truncated inside the turn.
func fit(all []block, t store.Turn, limit int, input *turnv1.Message) ([]*turnv1.Message, bool) {
	first, own := 0, -1
	for i, b := range all {
		if b.messages[0].GetSeq() == t.InputSeq {
			own = i
		}
	}
	if own >= 0 {
		input = all[own].messages[0]
	}
	size := proto.Size(input)
	for i, b := range slices.Backward(all) {
		if i != own {
			size += b.size
		}
		if size > limit && i < len(all)-1 {
			first = i + 1
			break
		}
	}
	for own >= 0 && first > 0 && first < own && all[first].messages[0].GetRole() != turnv1.Role_ROLE_USER {
		first++
	}
	var out []*turnv1.Message
	if input != nil && first > own {
		out = append(out, input)
	}
	for _, b := range all[first:] {
		out = append(out, b.messages...)
	}
	return out, first > 0
}
