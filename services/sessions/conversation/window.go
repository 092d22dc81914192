package conversation

import (
	"context"
	"slices"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

const (
	// DefaultWindow is how many bytes of conversation a model step reads unless it asks for less or more.
	DefaultWindow = 3 << 20
	// windowPage is how many messages one read of a window takes.
	windowPage = 64
)

// Window is what a model step reads of a conversation.
type Window struct {
	// Messages are in the order of turns, then of events: the input of a turn that waited stands after the answers before it. Each
	// tool call has a result; one that was never executed gets a result that says so. The turn's own input is always there.
	Messages []*turnv1.Message
	// Truncated: older messages were left out, or a summary stands for messages of the turn itself.
	Truncated bool
	// Inputs counts the input that came while the turn runs.
	Inputs uint32
	// Compacted is how many of the messages stand for what was compacted.
	Compacted uint32
}

// Window returns what a model step of a turn reads, at most limit bytes; 0 stands for DefaultWindow.
func (s *Service) Window(ctx context.Context, t store.Turn, ses store.Session, limit int) (Window, error) {
	if limit == 0 {
		limit = DefaultWindow
	}
	sum, err := readSummary(ctx, s.store, t, ses, func(id string) (store.Message, error) { return s.store.Message(ctx, ses.Tenant, id) })
	if err != nil {
		return Window{}, err
	}
	tail, err := s.tail(ctx, s.store, t, limit, sum)
	if err != nil {
		return Window{}, err
	}
	s.keep(t, limit, tail)
	return s.window(ctx, t, limit, tail, sum)
}

// WindowBefore returns what a model step of a turn has read: what stands before a point, usually that of the message it wrote, compacted as
// it was at a seq, usually that of the step's first event.
func (s *Service) WindowBefore(ctx context.Context, t store.Turn, ses store.Session, point store.Point, seq uint32) (Window, error) {
	ses.CompactedSeq = min(ses.CompactedSeq, seq)
	sum, err := readSummary(ctx, s.store, t, ses, func(id string) (store.Message, error) { return s.store.Message(ctx, ses.Tenant, id) })
	if err != nil {
		return Window{}, err
	}
	tail, err := backwards(ctx, s.store, t, DefaultWindow, sum, point)
	if err != nil {
		return Window{}, err
	}
	return s.window(ctx, t, DefaultWindow, tail, sum)
}

// window makes the window of what was read of a conversation.
func (s *Service) window(ctx context.Context, t store.Turn, limit int, tail *past, sum *summary) (_ Window, err error) {
	messages, more := tail.list(), !tail.begins(sum.end())
	var input *turnv1.Message // when the turn alone is too long
	if !slices.ContainsFunc(messages, func(m *turnv1.Message) bool { return m.GetSeq() == t.InputSeq }) {
		if input, err = s.input(ctx, t); err != nil {
			return Window{}, err
		}
	}
	chosen, truncated := fit(blocks(tail.messages), t, limit, input)
	return Window{
		Messages: sum.before(chosen), Truncated: more || truncated || sum != nil && sum.inTurn,
		Inputs: countInputs(sum.before(messages), t), Compacted: sum.size(),
	}, nil
}

// countInputs counts the input that came while the turn runs, as far as the messages that were read show it. Input that was left
// out because the conversation is too long counts too: another read would not show it either.
func countInputs(messages []*turnv1.Message, t store.Turn) uint32 {
	n := uint32(0)
	for _, m := range messages {
		if m.GetTurnId() == t.ID && m.GetRole() == turnv1.Role_ROLE_USER && m.GetSeq() != t.InputSeq {
			n++
		}
	}
	return max(n, t.Inputs)
}

// input reads the message that a turn began with, nil when it is not there.
func (s *Service) input(ctx context.Context, t store.Turn) (*turnv1.Message, error) {
	rows, err := s.store.Messages(ctx, t.Tenant, t.SessionID, int64(t.InputSeq)-1, 1)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return Message(rows[0])
}
