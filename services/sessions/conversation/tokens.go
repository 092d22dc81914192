package conversation

import (
	"errors"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// ConversationTokens estimates how many tokens of conversation a model step of the turn reads now: what Window returns.
func (s *Service) ConversationTokens(tx *journal.Tx, t store.Turn) (int64, error) {
	sum, err := summaryIn(tx, t)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	if sum != nil {
		for _, m := range sum.messages {
			total += MessageTokens(m)
		}
	}
	point := store.EndOf(t.Place)
	for size := 0; ; {
		rows, err := tx.ConversationBack(tx.Context(), t.Tenant, t.SessionID, point, windowPage)
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			if sum.covers(row) || size > DefaultWindow {
				return total, nil
			}
			m, err := Message(row)
			if err != nil {
				return 0, err
			}
			total += MessageTokens(m)
			size += len(row.Data)
			point = row.Point()
		}
		if len(rows) < windowPage {
			return total, nil
		}
	}
}

// MessageTokens estimates how many tokens a message takes.
func MessageTokens(m *turnv1.Message) int64 { return int64(tokens.Message(m)) }

// summaryIn is summaryOf within a transaction.
func summaryIn(tx *journal.Tx, t store.Turn) (*summary, error) {
	if tx.Session.CompactedSeq == 0 {
		return nil, nil
	}
	row, err := tx.Compaction(tx.Context(), t.Tenant, t.SessionID, tx.Session.CompactedSeq)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.To.TurnSeq > t.Place {
		return nil, nil // as in summaryOf
	}
	if err != nil {
		return nil, err
	}
	c, err := Compaction(row)
	if err != nil {
		return nil, err
	}
	messages, err := replacement(c, t.SessionID, func(id string) (store.Message, error) { return tx.MessageOf(tx.Context(), t.Tenant, t.SessionID, id) })
	return &summary{to: row.To, messages: messages}, err
}
