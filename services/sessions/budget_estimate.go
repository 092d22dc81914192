package sessions

import (
	"errors"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// perPrompt is added to an estimate, for words between the parts.
const perPrompt = 16

// promptTokens estimates what a model step of a turn will read: what GetContext gives, behind instructions and tools.
func promptTokens(tx *journal.Tx, t store.Turn, surface *turnv1.Surface) (int64, error) {
	summary, err := newestCompaction(tx, t)
	if err != nil {
		return 0, err
	}
	sum := int64(surface.GetPromptTokens()) + perPrompt
	var behind *head
	if summary != nil {
		behind = &head{to: summary.to}
		sum += summary.tokens
	}
	point := store.EndOf(t.Place)
	for size := 0; ; {
		rows, err := tx.ConversationBack(tx.Context(), t.Tenant, t.SessionID, point, contextPage)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if behind.covers(row) || size > contextBytes {
				return sum, nil
			}
			m, err := messageToProto(row)
			if err != nil {
				return 0, err
			}
			sum += messageTokens(m)
			size += len(row.Data)
			point = row.Point()
		}
		if len(rows) < contextPage {
			return sum, nil
		}
	}
}

// messageTokens estimates what a message takes.
func messageTokens(m *turnv1.Message) int64 { return int64(tokens.Message(m)) }

// replaced is what a summary takes with what was kept beside it, and where the last message stands that it is for.
type replaced struct {
	to     store.Point
	tokens int64
}

// newestCompaction gives what stands before the conversation of a turn, nil when nothing was compacted.
func newestCompaction(tx *journal.Tx, t store.Turn) (*replaced, error) {
	if tx.Session.CompactedSeq == 0 {
		return nil, nil
	}
	row, err := tx.Compaction(tx.Context(), t.Tenant, t.SessionID, tx.Session.CompactedSeq)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.To.TurnSeq > t.Place {
		return nil, nil // as in GetContext
	}
	if err != nil {
		return nil, err
	}
	c, err := compactionOf(row)
	if err != nil {
		return nil, err
	}
	shown, err := shownFor(c, t.SessionID, func(id string) (store.Message, error) { return tx.MessageOf(tx.Context(), t.Tenant, t.SessionID, id) })
	if err != nil {
		return nil, err
	}
	out := &replaced{to: row.To}
	for _, m := range shown {
		out.tokens += messageTokens(m)
	}
	return out, nil
}
