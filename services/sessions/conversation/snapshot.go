package conversation

import (
	"context"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// Snapshot is a conversation as it was at some seq.
type Snapshot struct {
	// Messages are those of the turns before.
	Messages []*turnv1.Message
	// UpTo is the seq up to which it was read.
	UpTo uint32
	// Turn is, for a re-run, what the turn that is run again did before the step from which it is; Aside is what else it did, whose
	// artifacts the re-run may refer to.
	Turn, Aside []*turnv1.Message
}

// At reads the conversation of a session up to a seq; 0 means that of its finished turns. Of a turn that was not over at the seq
// it takes what is complete: a turn without an answer, and tool calls without results, are left out. It fails when that has more
// than Config.MaxCopyBytes.
func (s *Service) At(ctx context.Context, ses store.Session, seq uint32) (Snapshot, error) {
	turns, err := s.allTurns(ctx, ses)
	if err != nil {
		return Snapshot{}, err
	}
	end := endOf(ses, turns, seq)
	finishedOnly := seq == 0
	if finishedOnly {
		seq = end
	}
	var p, open Snapshot // open gathers the messages of the unfinished turn that is being read
	partial := false
	whole := func() {
		kept := complete(open.Messages)
		partial = partial || kept < len(open.Messages)
		for _, m := range open.Messages[:kept] {
			end = max(end, m.GetSeq())
		}
		p.Messages, open.Messages = append(p.Messages, open.Messages[:kept]...), nil
	}
	size := 0
	err = s.Each(ctx, ses, int64(seq), func(row store.Message) error {
		t, ok := turns[row.TurnID]
		if row.Seq < 0 && row.TurnSeq > 0 && !overAt(turns, row.TurnSeq, seq) {
			partial = true // it came with a turn that was not over
			return nil
		}
		over := row.Seq < 0 || ok && t.LastSeq != 0 && t.LastSeq <= seq
		if over && row.TurnSeq == store.Unplaced || !over && (!ok || finishedOnly) {
			return nil // it never ran, or came later
		}
		if size += len(row.Data); size > s.cfg.MaxCopyBytes {
			return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE,
				"the conversation up to there has more than the %d bytes allowed", s.cfg.MaxCopyBytes).
				Hint("Fork at an earlier seq.")
		}
		m, err := Message(row)
		if err != nil {
			return err
		}
		if len(open.Messages) > 0 && (over || open.Messages[0].GetTurnId() != m.GetTurnId()) {
			whole()
		}
		if over {
			p.Messages = append(p.Messages, m)
		} else {
			open.Messages = append(open.Messages, m)
		}
		return nil
	})
	whole()
	if p.UpTo = seq; partial {
		p.UpTo = end
	}
	return p, err
}

// overAt reports whether the turn with a place was over at a seq.
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
		rows, err := s.store.TurnsInOrder(ctx, ses.Tenant, ses.ID, after, readPage)
		if err != nil {
			return nil, err
		}
		for _, t := range rows {
			out[t.ID], after = t, t.FirstSeq
		}
		if len(rows) < readPage {
			return out, nil
		}
	}
}

// endOf returns the seq at which the last of the turns ended that were over at a seq; 0 = now.
func endOf(ses store.Session, turns map[string]store.Turn, seq uint32) uint32 {
	end := uint32(0)
	if ses.ForkedFrom != "" {
		end = ForkedSeq
	}
	for _, t := range turns {
		if seq == 0 || t.LastSeq <= seq {
			end = max(end, t.LastSeq)
		}
	}
	return end
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
