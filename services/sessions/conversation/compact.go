package conversation

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/fault"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// maxKept bounds the messages that stay beside a summary.
const maxKept = 64

// Compact stores a summary that models read from now on in place of the messages up to c.to_message_id. The messages themselves stay.
func Compact(tx *journal.Tx, t store.Turn, step store.Step, c *turnv1.ContextCompacted) error {
	if step.Kind != turnv1.StepKind_STEP_KIND_COMPACT || c.GetMessageId() == "" || c.GetSummary() == "" ||
		len(c.GetKeptMessageIds()) > maxKept {
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
	if err := absorb(tx, t, c); err != nil {
		return err
	}
	data, err := proto.Marshal(c)
	if err != nil {
		return fmt.Errorf("compaction of session %s: %w", t.SessionID, err)
	}
	seq, err := tx.Append(journal.OfStep(t, step), &turnv1.Event{Data: &turnv1.Event_ContextCompacted{ContextCompacted: c}})
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

// absorb makes a summary stand also for what the earlier summary stood for that it replaces.
func absorb(tx *journal.Tx, t store.Turn, c *turnv1.ContextCompacted) error {
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
	before, err := Compaction(row)
	if err != nil {
		return err
	}
	c.FromSeq = before.GetFromSeq()
	c.Messages += before.GetMessages()
	return nil
}
