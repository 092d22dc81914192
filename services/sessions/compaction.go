package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/workflows/contract"
)

// maxKept bounds the messages that stay beside a summary.
const maxKept = 64

// writeCompaction has models shown a summary from now on. The messages themselves stay.
func writeCompaction(tx *journal.Tx, t store.Turn, step store.Step, c *turnv1.ContextCompacted) error {
	if turnv1.StepKind(step.Kind) != turnv1.StepKind_STEP_KIND_COMPACT || c.GetMessageId() == "" || c.GetSummary() == "" || len(c.GetKeptMessageIds()) > maxKept {
		return fault.Invalid("events", "context.compacted needs a summary with its id, %d kept messages at most, and a compact step", maxKept)
	}
	to, err := tx.MessageOf(tx.Context(), t.Tenant, t.SessionID, c.GetToMessageId())
	if errors.Is(err, store.ErrNotFound) || err == nil && to.TurnSeq > t.Place {
		return fault.Invalid("events", "context.compacted: the turn's conversation has no message %q", c.GetToMessageId())
	}
	if err != nil {
		return err
	}
	c = proto.CloneOf(c) // the transaction may run again
	if err := takeOver(tx, t, c); err != nil {
		return err
	}
	data, err := proto.Marshal(c)
	if err != nil {
		return fmt.Errorf("compaction of session %s: %w", t.SessionID, err)
	}
	seq, err := tx.Append(stepOrigin(t, step), &turnv1.Event{Data: &turnv1.Event_ContextCompacted{ContextCompacted: c}})
	if err != nil {
		return err
	}
	rest, err := tx.SizeAfter(tx.Context(), t.Tenant, t.SessionID, to.Point())
	if err != nil {
		return err
	}
	for _, id := range c.GetKeptMessageIds() {
		kept, err := tx.MessageOf(tx.Context(), t.Tenant, t.SessionID, id)
		if errors.Is(err, store.ErrNotFound) {
			return fault.Invalid("events", "context.compacted: the session has no message %q", id)
		}
		if err != nil {
			return err
		}
		rest += int64(len(kept.Data))
	}
	tx.Session.CompactedSeq, tx.Session.ContextBytes = seq, rest+int64(len(c.GetSummary()))
	return tx.AddCompaction(tx.Context(), store.Compaction{
		Tenant: t.Tenant, SessionID: t.SessionID, Seq: seq, TurnID: t.ID, To: to.Point(), Data: data,
	})
}

// takeOver has a summary stand also for what the summary stood for that it takes the place of.
func takeOver(tx *journal.Tx, t store.Turn, c *turnv1.ContextCompacted) error {
	if tx.Session.CompactedSeq == 0 {
		return nil
	}
	row, err := tx.Compaction(tx.Context(), t.Tenant, t.SessionID, tx.Session.CompactedSeq)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	before, err := compactionOf(row)
	if err != nil {
		return err
	}
	c.FromSeq = before.GetFromSeq()
	c.Messages += before.GetMessages()
	return nil
}

// head is what models are shown before the conversation that follows a compaction. The zero value is that of a session without one.
type head struct {
	to       store.Point       // where the last message stands that the summary stands for
	messages []*turnv1.Message // the summary, and what was kept beside it
	inTurn   bool              // it stands for messages of the turn that asks
}

// size is how many messages stand for what was compacted.
func (h *head) size() uint32 {
	if h == nil {
		return 0
	}
	return uint32(len(h.messages))
}

// covers tells whether a message is behind the summary.
func (h *head) covers(m store.Message) bool {
	return h != nil && !m.Point().After(h.to)
}

// compacted reads what stands before a turn's conversation, nil when nothing was compacted.
func (s *Service) compacted(ctx context.Context, t store.Turn, ses store.Session) (*head, error) {
	if ses.CompactedSeq == 0 {
		return nil, nil
	}
	row, err := s.store.Compaction(ctx, ses.Tenant, ses.ID, ses.CompactedSeq)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.To.TurnSeq > t.Place {
		return nil, nil // deleted meanwhile, or later than the turn
	}
	if err != nil {
		return nil, err
	}
	c, err := compactionOf(row)
	if err != nil {
		return nil, err
	}
	shown, err := shownFor(c, ses.ID, func(id string) (store.Message, error) { return s.store.Message(ctx, ses.Tenant, id) })
	return &head{to: row.To, inTurn: row.To.TurnSeq == t.Place && t.Place != 0, messages: shown}, err
}

// compactionOf reads what was stored of a compaction.
func compactionOf(row store.Compaction) (*turnv1.ContextCompacted, error) {
	c := &turnv1.ContextCompacted{}
	if err := proto.Unmarshal(row.Data, c); err != nil {
		return nil, fmt.Errorf("compaction %d of session %s: %w", row.Seq, row.SessionID, err)
	}
	return c, nil
}

// shownFor is what models are shown for what was compacted: the summary, and the kept messages that are still there.
func shownFor(c *turnv1.ContextCompacted, session string, read func(id string) (store.Message, error)) ([]*turnv1.Message, error) {
	out := []*turnv1.Message{summaryMessage(c, session)}
	for _, id := range c.GetKeptMessageIds() {
		kept, err := read(id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		m, err := messageToProto(kept)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// summaryMessage is a summary as models read it: something that the user says, for every model takes that. It is of no turn: nobody asked it.
func summaryMessage(c *turnv1.ContextCompacted, session string) *turnv1.Message {
	return &turnv1.Message{
		Id: c.GetMessageId(), SessionId: session, Role: turnv1.Role_ROLE_USER, Seq: c.GetToSeq(),
		Content: []*turnv1.ContentPart{{Part: &turnv1.ContentPart_Text{Text: contract.SummaryPrefix + "\n" + c.GetSummary()}}},
	}
}

// before puts what was kept in front of the conversation that follows. A request that is kept and comes again is not told twice.
func (h *head) before(messages []*turnv1.Message) []*turnv1.Message {
	if h == nil {
		return messages
	}
	out := slices.Clone(h.messages)
	for _, m := range messages {
		if !slices.ContainsFunc(h.messages, func(k *turnv1.Message) bool { return k.GetId() == m.GetId() }) {
			out = append(out, m)
		}
	}
	return out
}
