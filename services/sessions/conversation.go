package sessions

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// contextBytes is how much conversation a model step reads unless it asks for less or more.
	contextBytes = 3 << 20
	// contextPage is how many messages one read of the conversation takes.
	contextPage = 64
)

// block is what must stay together: one message, or an assistant message with the results of its tool calls.
type block struct {
	messages []*turnv1.Message
	size     int
}

// GetContext implements ExecutionService. The conversation is in the order of turns, then of events: the input of a turn that waited stands after the answers
// before it. Each tool call has a result; one that was never executed gets a result that says so. The turn's own input is always there.
func (s *Service) GetContext(ctx context.Context, req *sessionsv1.GetContextRequest) (*sessionsv1.GetContextResponse, error) {
	t, ses, err := s.turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	limit := int(req.GetMaxBytes())
	if limit == 0 {
		limit = contextBytes
	}
	return s.shown(ctx, t, ses, limit)
}

// shown gives what a model step of a turn reads, at most limit bytes.
func (s *Service) shown(ctx context.Context, t store.Turn, ses store.Session, limit int) (*sessionsv1.GetContextResponse, error) {
	head, err := s.compacted(ctx, t, ses)
	if err != nil {
		return nil, err
	}
	messages, more, err := s.tail(ctx, t, limit, head)
	if err != nil {
		return nil, err
	}
	var input *turnv1.Message // when the turn alone is too long
	if !slices.ContainsFunc(messages, func(m *turnv1.Message) bool { return m.GetSeq() == t.InputSeq }) {
		if input, err = s.input(ctx, t); err != nil {
			return nil, err
		}
	}
	chosen, cut := fit(blocks(messages), t, limit, input)
	cut = more || cut || head != nil && head.inTurn
	shown := head.before(chosen)
	return &sessionsv1.GetContextResponse{
		Messages: shown, Truncated: cut, Inputs: steered(head.before(messages), t), Compacted: head.size(),
	}, nil
}

// steered counts the input that came while the turn runs, as far as this read of its messages has seen it. Input that had to be left out because
// the conversation is too long is counted: asking again would not show it.
func steered(messages []*turnv1.Message, t store.Turn) uint32 {
	n := uint32(0)
	for _, m := range messages {
		if m.GetTurnId() == t.ID && m.GetRole() == turnv1.Role_ROLE_USER && m.GetSeq() != t.InputSeq {
			n++
		}
	}
	return max(n, t.Inputs)
}

// tail reads the conversation up to the turn from its end back until limit bytes are read, or to what a summary stands for. It tells whether
// there is more.
func (s *Service) tail(ctx context.Context, t store.Turn, limit int, head *head) ([]*turnv1.Message, bool, error) {
	var out []*turnv1.Message
	point := store.EndOf(t.Place)
	for size := 0; ; {
		rows, err := s.store.ConversationBack(ctx, t.Tenant, t.SessionID, point, contextPage)
		if err != nil {
			return nil, false, err
		}
		for _, row := range rows {
			if head.covers(row) {
				slices.Reverse(out)
				return out, false, nil
			}
			m, err := messageToProto(row)
			if err != nil {
				return nil, false, err
			}
			out = append(out, m)
			size += len(row.Data)
			point = row.Point()
		}
		if len(rows) < contextPage || size > limit {
			slices.Reverse(out)
			return out, len(rows) == contextPage, nil
		}
	}
}

func (s *Service) input(ctx context.Context, t store.Turn) (*turnv1.Message, error) {
	rows, err := s.store.Messages(ctx, t.Tenant, t.SessionID, int64(t.InputSeq)-1, 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return messageToProto(rows[0])
}

// blocks joins assistant messages with the results of their calls, in the order of the calls. Results whose call is not there are left out.
func blocks(messages []*turnv1.Message) []block {
	results := map[string]*turnv1.Message{}
	for _, m := range messages {
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			results[m.GetTurnId()+"\x00"+m.GetToolResult().GetCallId()] = m
		}
	}
	var out []block
	for _, m := range messages {
		if m.GetRole() == turnv1.Role_ROLE_TOOL {
			continue
		}
		b := block{messages: []*turnv1.Message{m}, size: proto.Size(m)}
		for _, call := range m.GetToolCalls() {
			r := results[m.GetTurnId()+"\x00"+call.GetCallId()]
			if r == nil {
				r = notExecuted(m, call)
			}
			b.messages = append(b.messages, r)
			b.size += proto.Size(r)
		}
		out = append(out, b)
	}
	return out
}

// resultsAtCalls puts the results of calls right behind the message that asks for them, in the order of the calls, as models read them. Input that came
// while the calls ran stands behind them. No message is left out or added.
func resultsAtCalls(messages []*turnv1.Message) []*turnv1.Message {
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

// notExecuted is a result for a call that has none, since the turn ended before. Providers refuse a conversation without it.
func notExecuted(m *turnv1.Message, call *turnv1.ToolCall) *turnv1.Message {
	text := "not executed: the turn ended before this call"
	return &turnv1.Message{
		SessionId: m.GetSessionId(), TurnId: m.GetTurnId(), Role: turnv1.Role_ROLE_TOOL, CreateTime: m.GetCreateTime(), Seq: m.GetSeq(),
		ToolResult: &turnv1.ToolResult{
			CallId: call.GetCallId(), Tool: call.GetTool(), IsError: true,
			Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: text}}},
		},
	}
}

// fit takes the newest blocks that fit, the newest one in any case, and tells whether it left any out. A conversation that was cut begins with a
// user's message: with that of the turn when the cut is inside it.
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
