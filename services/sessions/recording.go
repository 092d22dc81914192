package sessions

import (
	"context"
	"errors"

	"github.com/windlass-dev/windlass/libs/fault"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/api/convert"
	"github.com/windlass-dev/windlass/services/sessions/store"
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

// GetRecording implements ExecutionService.
func (s *Service) GetRecording(ctx context.Context, req *sessionsv1.GetRecordingRequest) (*sessionsv1.GetRecordingResponse, error) {
	t, ses, err := s.access.Turn(ctx, req.GetTurnId())
	if err != nil {
		return nil, err
	}
	in, err := s.inputOf(ctx, t)
	if err != nil {
		return nil, err
	}
	rerun, err := convert.Rerun(in)
	if err != nil || rerun == nil {
		return &sessionsv1.GetRecordingResponse{}, err
	}
	messages, err := s.conversations.OfTurn(ctx, ses, t, nil)
	if err != nil {
		return nil, err
	}
	hash, n := place(callsOf(messages), req.GetMessageId(), req.GetCallId())
	if hash == "" {
		return nil, fault.NotFound("turn %s has no tool call %q in message %q", t.ID, req.GetCallId(), req.GetMessageId())
	}
	before, err := s.recordings(ctx, t.Tenant, rerun.GetOfTurn())
	if err != nil || n > len(before[hash]) {
		return &sessionsv1.GetRecordingResponse{}, err
	}
	return &sessionsv1.GetRecordingResponse{Result: before[hash][n-1]}, nil
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

// recordings lists the results of a turn's calls by their hash, in order; nil stands for a call that came to nothing of its own, because it was
// cut off by the end of the turn. A turn that was deleted meanwhile has none.
func (s *Service) recordings(ctx context.Context, tenant, turn string) (map[string][]*turnv1.ToolResult, error) {
	t, err := s.store.Turn(ctx, tenant, turn)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	messages, err := s.conversations.OfTurn(ctx, store.Session{Tenant: t.Tenant, ID: t.SessionID}, t, nil)
	if err != nil {
		return nil, err
	}
	outcomes, _, err := s.outcomes(ctx, t)
	if err != nil {
		return nil, err
	}
	cut := map[string]bool{}
	for _, o := range outcomes {
		cut[o.GetMessageId()] = o.GetCancelled() || o.GetError() != nil
	}
	out := map[string][]*turnv1.ToolResult{}
	for _, c := range callsOf(messages) {
		if cut[c.resultID] {
			c.result = nil
		}
		out[c.hash] = append(out[c.hash], c.result)
	}
	return out, nil
}
