package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// summary is what models read in place of the messages that were compacted; nil in a session without compaction.
type summary struct {
	to       store.Point       // the point of the last message that was compacted
	messages []*turnv1.Message // the summary, and what was kept beside it
	inTurn   bool              // it stands for messages of the turn that reads it
}

// size returns how many messages stand for what was compacted.
func (h *summary) size() uint32 {
	if h == nil {
		return 0
	}
	return uint32(len(h.messages))
}

// end returns the point behind which the conversation is not covered by a summary.
func (h *summary) end() store.Point {
	if h == nil {
		return store.Beginning()
	}
	return h.to
}

// reader reads a conversation: a store, or the transaction that is open.
type reader interface {
	Compaction(ctx context.Context, tenant, session string, seq uint32) (store.Compaction, error)
	Conversation(ctx context.Context, tenant, session string, after store.Point, upTo int64, limit int) ([]store.Message, error)
	ConversationBack(ctx context.Context, tenant, session string, before store.Point, limit int) ([]store.Message, error)
}

// readSummary reads the summary that a turn reads, nil when nothing was compacted before the turn. read reads a message by its ID.
func readSummary(
	ctx context.Context, r reader, t store.Turn, ses store.Session, read func(id string) (store.Message, error),
) (*summary, error) {
	if ses.CompactedSeq == 0 {
		return nil, nil
	}
	row, err := r.Compaction(ctx, ses.Tenant, ses.ID, ses.CompactedSeq)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.To.TurnSeq > t.Place {
		return nil, nil // deleted meanwhile, or later than the turn
	}
	if err != nil {
		return nil, err
	}
	c, err := Compaction(row)
	if err != nil {
		return nil, err
	}
	messages, err := replacement(c, ses.ID, read)
	return &summary{to: row.To, inTurn: row.To.TurnSeq == t.Place && t.Place != 0, messages: messages}, err
}

// Compaction decodes a compaction.
func Compaction(row store.Compaction) (*turnv1.ContextCompacted, error) {
	c := &turnv1.ContextCompacted{}
	if err := proto.Unmarshal(row.Data, c); err != nil {
		return nil, fmt.Errorf("compaction %d of session %s: %w", row.Seq, row.SessionID, err)
	}
	return c, nil
}

// replacement returns what models read for what was compacted: the summary, and the kept messages that still exist.
func replacement(c *turnv1.ContextCompacted, session string, read func(id string) (store.Message, error)) ([]*turnv1.Message, error) {
	out := []*turnv1.Message{summaryMessage(c, session)}
	for _, id := range c.GetKeptMessageIds() {
		kept, err := read(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := Message(kept)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// summaryMessage returns a summary as a message of the user, which every model accepts. It belongs to no turn.
func summaryMessage(c *turnv1.ContextCompacted, session string) *turnv1.Message {
	return &turnv1.Message{
		Id: c.GetMessageId(), SessionId: session, Role: turnv1.Role_ROLE_USER, Seq: c.GetToSeq(), Tainted: c.GetTainted(),
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: contract.SummaryPrefix + "\n" + c.GetSummary()}}},
	}
}

// before puts the summary in front of the messages that follow it. A kept message that is among them is not repeated.
func (h *summary) before(messages []*turnv1.Message) []*turnv1.Message {
	if h == nil {
		return messages
	}
	kept := make(map[string]bool, len(h.messages))
	for _, m := range h.messages {
		kept[m.GetId()] = true
	}
	out := slices.Clone(h.messages)
	for _, m := range messages {
		if !kept[m.GetId()] {
			out = append(out, m)
		}
	}
	return out
}
