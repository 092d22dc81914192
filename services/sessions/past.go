package sessions

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// pastPage is how many rows one read of a session's past takes.
const pastPage = 200

// past is a conversation as it stood at some seq.
type past struct {
	messages []*turnv1.Message
	// upTo is the seq up to which it was taken.
	upTo uint32
	// turn is, for a re-run, what the turn that is run again did before the step from which it is; aside what it did, with artifacts that may be
	// spoken of again.
	turn, aside []*turnv1.Message
}

// past reads the conversation of a session up to a seq; 0 means that of its finished turns. Of a turn that was not over at the seq
// it takes what is complete: a turn without an answer, and tool calls without results, are left out.
func (s *Service) past(ctx context.Context, ses store.Session, seq uint32) (past, error) {
	turns, err := s.allTurns(ctx, ses)
	if err != nil {
		return past{}, err
	}
	end := endOf(ses, turns, seq)
	finishedOnly := seq == 0
	if finishedOnly {
		seq = end
	}
	var p, open past // open gathers the messages of the unfinished turn that is being read
	left := false
	whole := func() {
		kept := complete(open.messages)
		left = left || kept < len(open.messages)
		for _, m := range open.messages[:kept] {
			end = max(end, m.GetSeq())
		}
		p.messages, open.messages = append(p.messages, open.messages[:kept]...), nil
	}
	size := 0
	err = s.conversation(ctx, ses, int64(seq), func(row store.Message) error {
		t, ok := turns[row.TurnID]
		if row.Seq < 0 && row.TurnSeq > 0 && !overAt(turns, row.TurnSeq, seq) {
			left = true // it came with a turn that was not over
			return nil
		}
		over := row.Seq < 0 || ok && t.LastSeq != 0 && t.LastSeq <= seq
		if over && row.TurnSeq == store.Unplaced || !over && (!ok || finishedOnly) {
			return nil // it never ran, or came later
		}
		if size += len(row.Data); size > s.cfg.MaxForkBytes {
			return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the conversation up to there has more than the %d bytes allowed", s.cfg.MaxForkBytes).
				Hint("Fork at an earlier seq.")
		}
		m, err := messageToProto(row)
		if err != nil {
			return err
		}
		if len(open.messages) > 0 && (over || open.messages[0].GetTurnId() != m.GetTurnId()) {
			whole()
		}
		if over {
			p.messages = append(p.messages, m)
		} else {
			open.messages = append(open.messages, m)
		}
		return nil
	})
	whole()
	if p.upTo = seq; left {
		p.upTo = end
	}
	return p, err
}

// overAt tells whether the turn with a place was over at a seq.
func overAt(turns map[string]store.Turn, place, seq uint32) bool {
	for _, t := range turns {
		if t.Place == place {
			return t.LastSeq != 0 && t.LastSeq <= seq
		}
	}
	return false
}

// allTurns reads the turns of a session by id.
func (s *Service) allTurns(ctx context.Context, ses store.Session) (map[string]store.Turn, error) {
	out := map[string]store.Turn{}
	for after := uint32(0); ; {
		rows, err := s.store.TurnsInOrder(ctx, ses.Tenant, ses.ID, after, pastPage)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			out[t.ID], after = t, t.FirstSeq
		}
		if len(rows) < pastPage {
			return out, nil
		}
	}
}

// endOf gives the seq at which the last turn ended that was over at a seq, 0 = now.
func endOf(ses store.Session, turns map[string]store.Turn, seq uint32) uint32 {
	end := uint32(0)
	if ses.ForkedFrom != "" {
		end = forkedSeq
	}
	for _, t := range turns {
		if seq == 0 || t.LastSeq <= seq {
			end = max(end, t.LastSeq)
		}
	}
	return end
}

// conversation calls each for a session's messages in the order of the conversation, up to a seq.
func (s *Service) conversation(ctx context.Context, ses store.Session, upTo int64, each func(store.Message) error) error {
	point := store.Beginning()
	for {
		rows, err := s.store.Conversation(ctx, ses.Tenant, ses.ID, point, upTo, pastPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := each(row); err != nil {
				return err
			}
			point = row.Point()
		}
		if len(rows) < pastPage {
			return nil
		}
	}
}

// complete counts the messages of a turn up to the last point where something was answered and each tool call has its result.
func complete(messages []*turnv1.Message) int {
	kept := 0
	waiting := map[string]bool{}
	for i, m := range messages {
		for _, call := range m.GetToolCalls() {
			waiting[call.GetCallId()] = true
		}
		delete(waiting, m.GetToolResult().GetCallId())
		if len(waiting) == 0 && m.GetRole() != turnv1.Role_ROLE_USER {
			kept = i + 1
		}
	}
	return kept
}

// copyOf is a message of another session as one of ses. It keeps its turn, as a reference.
func copyOf(m *turnv1.Message, ses store.Session) (store.Message, error) {
	m.Id, m.SessionId, m.Seq = ids.New(ids.Message), ses.ID, forkedSeq
	data, err := proto.Marshal(m)
	if err != nil {
		return store.Message{}, fmt.Errorf("copy message: %w", err)
	}
	return store.Message{Tenant: ses.Tenant, SessionID: ses.ID, ID: m.GetId(), TurnID: m.GetTurnId(), Data: data}, nil
}
