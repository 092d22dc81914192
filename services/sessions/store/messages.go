package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// Message is one entry of a conversation.
type Message struct {
	// Tenant, SessionID and Seq name it; Seq is the seq of the event that committed it.
	Tenant, SessionID string
	Seq               uint32
	// ID is unique in the tenant.
	ID string
	// TurnID is the turn that wrote it; TurnSeq that turn's first seq. A conversation is ordered by TurnSeq, then Seq: the input of a turn
	// that waited comes after the answers of the turns before it.
	TurnID  string
	TurnSeq uint32
	// Data is the windlass.turn.v1.Message.
	Data []byte
}

const messageColumns = "tenant, session_id, seq, id, turn_id, turn_seq, data"

func scanMessage(s sqldb.Scanner) (m Message, err error) {
	err = s.Scan(&m.Tenant, &m.SessionID, &m.Seq, &m.ID, &m.TurnID, &m.TurnSeq, &m.Data)
	return m, err
}

// Messages lists messages of a session in the order of their events, after the given seq.
func (s *Store) Messages(ctx context.Context, tenant, session string, after uint32, limit int) ([]Message, error) {
	return all(ctx, s.db.Reader(), scanMessage, "SELECT "+messageColumns+
		" FROM messages WHERE tenant = $1 AND session_id = $2 AND seq > $3 ORDER BY seq LIMIT $4", tenant, session, int64(after), limit)
}

const conversationBack = "SELECT " + messageColumns + ` FROM messages WHERE tenant = $1 AND session_id = $2
	AND (turn_seq, seq) < ($3, $4) ORDER BY turn_seq DESC, seq DESC LIMIT $5`

// ConversationBack lists a session's conversation from the end back, before the place (turnSeq, seq).
func (s *Store) ConversationBack(ctx context.Context, tenant, session string, turnSeq, seq uint32, limit int) ([]Message, error) {
	return all(ctx, s.db.Reader(), scanMessage, conversationBack, tenant, session, int64(turnSeq), int64(seq), limit)
}

// ConversationBack is the same for a locked session.
func (tx *Tx) ConversationBack(ctx context.Context, tenant, session string, turnSeq, seq uint32, limit int) ([]Message, error) {
	return sqldb.All(ctx, tx, scanMessage, conversationBack, tenant, session, int64(turnSeq), int64(seq), limit)
}

// Message reads one by its id. ErrNotFound when there is none.
func (s *Store) Message(ctx context.Context, tenant, id string) (Message, error) {
	return one(ctx, s.db.Reader(), scanMessage, "SELECT "+messageColumns+" FROM messages WHERE tenant = $1 AND id = $2", tenant, id)
}

// AddMessage stores a message. The session must be locked.
func (tx *Tx) AddMessage(ctx context.Context, m Message) error {
	_, err := sqldb.Exec(ctx, tx, "INSERT INTO messages ("+messageColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		m.Tenant, m.SessionID, int64(m.Seq), m.ID, m.TurnID, int64(m.TurnSeq), m.Data)
	return err
}
