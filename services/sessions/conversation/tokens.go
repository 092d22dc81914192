package conversation

import (
	"slices"

	"github.com/windlass-dev/windlass/libs/tokens"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// ConversationTokens estimates how many tokens of conversation a model step of the turn reads now: what Window returns.
func (s *Service) ConversationTokens(tx *journal.Tx, t store.Turn) (total int64, err error) {
	ctx := tx.Context()
	sum, err := readSummary(ctx, tx, t, tx.Session,
		func(id string) (store.Message, error) { return tx.MessageOf(ctx, t.Tenant, t.SessionID, id) })
	if err != nil {
		return 0, err
	}
	if sum != nil {
		for _, m := range sum.messages {
			total += MessageTokens(m)
		}
	}
	tail, err := s.tail(ctx, tx, t, DefaultWindow, sum)
	if err != nil {
		return 0, err
	}
	size := 0
	for _, m := range slices.Backward(tail.messages) {
		if size > DefaultWindow { // Window leaves out what is older
			break
		}
		total += m.tokens
		size += m.size
	}
	return total, nil
}

// MessageTokens estimates how many tokens a message takes.
func MessageTokens(m *turnv1.Message) int64 { return int64(tokens.Message(m)) }
