package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Message is one entry of a conversation.
type Message struct {
	// Tenant, SessionID and Seq name it; Seq is the seq of the event that committed it. Those that a forked session began with were committed
	// by one event; theirs are below 0, in order.
	Tenant, SessionID string
	Seq               int64
	// ID is unique in the tenant.
	ID string
	// TurnID is the turn that wrote it; TurnSeq that turn's place, 0 for what a forked session began with, and for what a re-run has
	// taken over from the turn that it runs again the place of the re-run. A conversation is ordered by TurnSeq, then Place, then
	// Seq: the input of a turn that waited comes after the answers of the turns before it.
	TurnID  string
	TurnSeq uint32
	// Place is Seq, or a later seq that no message has: what was said to a running turn stands behind the answers that were written
	// before it was read.
	Place int64
	// Data is the windlass.turn.v1.Message.
	Data []byte
}

const (
	// BeforeAll is below the seq of every message.
	BeforeAll = math.MinInt64
	// AfterAll is above the seq of every message.
	AfterAll = math.MaxInt64
)

const messageColumns = "tenant, session_id, seq, id, turn_id, turn_seq, data, place"

func scanMessage(s sqldb.Scanner) (m Message, err error) {
	err = s.Scan(&m.Tenant, &m.SessionID, &m.Seq, &m.ID, &m.TurnID, &m.TurnSeq, &m.Data, &m.Place)
	return m, err
}

// Messages lists messages of a session in the order of their events, after the given seq; BeforeAll is before the first.
func (s *sessionReader) Messages(ctx context.Context, tenant, session string, after int64, limit int) ([]Message, error) {
	return rows.All(ctx, s.DB.Reader(), scanMessage, "SELECT "+messageColumns+
		" FROM messages WHERE tenant = $1 AND session_id = $2 AND seq > $3 ORDER BY seq LIMIT $4", tenant, session, after, limit)
}

const conversationBack = "SELECT " + messageColumns + ` FROM messages WHERE tenant = $1 AND session_id = $2
	AND (turn_seq, place, seq) < ($3, $4, $5) ORDER BY turn_seq DESC, place DESC, seq DESC LIMIT $6`

// Point is a point in a conversation, before or behind the message there.
type Point struct {
	TurnSeq    uint32
	Place, Seq int64
}

// Point is where the message stands.
func (m Message) Point() Point { return Point{TurnSeq: m.TurnSeq, Place: m.Place, Seq: m.Seq} }

// After reports whether a point is behind another.
func (p Point) After(q Point) bool {
	return cmp.Or(cmp.Compare(p.TurnSeq, q.TurnSeq), cmp.Compare(p.Place, q.Place), cmp.Compare(p.Seq, q.Seq)) > 0
}

// EndOf is the point behind all messages of turns up to a place.
func EndOf(turnSeq uint32) Point { return Point{TurnSeq: turnSeq, Place: AfterAll, Seq: AfterAll} }

// Beginning is the point before all messages.
func Beginning() Point { return Point{Place: BeforeAll, Seq: BeforeAll} }

// ConversationBack lists a session's conversation from the end back, before a point.
func (s *sessionReader) ConversationBack(ctx context.Context, tenant, session string, p Point, limit int) ([]Message, error) {
	return rows.All(ctx, s.DB.Reader(), scanMessage, conversationBack, tenant, session, int64(p.TurnSeq), p.Place, p.Seq, limit)
}

// ConversationBack is the same for a locked session.
func (tx *sessionTx) ConversationBack(ctx context.Context, tenant, session string, p Point, limit int) ([]Message, error) {
	return sqldb.All(ctx, tx, scanMessage, conversationBack, tenant, session, int64(p.TurnSeq), p.Place, p.Seq, limit)
}

// MoveMessage moves a message of a locked session behind the messages up to a seq.
func (tx *sessionTx) MoveMessage(ctx context.Context, tenant, id string, place int64) error {
	return sqldb.ExecOne(ctx, tx, "UPDATE messages SET place = $3 WHERE tenant = $1 AND id = $2", tenant, id, place)
}

// Message reads one by its id. ErrNotFound when there is none.
func (s *sessionReader) Message(ctx context.Context, tenant, id string) (Message, error) {
	return rows.One(ctx, s.DB.Reader(), scanMessage, "SELECT "+messageColumns+" FROM messages WHERE tenant = $1 AND id = $2", tenant, id)
}

const conversation = "SELECT " + messageColumns + ` FROM messages WHERE tenant = $1 AND session_id = $2
	AND (turn_seq, place, seq) > ($3, $4, $5) AND seq <= $6 ORDER BY turn_seq, place, seq LIMIT $7`

// Conversation lists a session's conversation in its order, after a point, without messages whose seq is above upTo.
func (s *sessionReader) Conversation(ctx context.Context, tenant, session string, p Point, upTo int64, limit int) ([]Message, error) {
	return rows.All(ctx, s.DB.Reader(), scanMessage, conversation, tenant, session, int64(p.TurnSeq), p.Place, p.Seq, upTo, limit)
}

// Conversation is the same for a locked session.
func (tx *sessionTx) Conversation(ctx context.Context, tenant, session string, p Point, upTo int64, limit int) ([]Message, error) {
	return sqldb.All(ctx, tx, scanMessage, conversation, tenant, session, int64(p.TurnSeq), p.Place, p.Seq, upTo, limit)
}

// AddMessages stores messages of one session, at their places, or at those of their seqs. The session must be locked, or made in
// the same transaction.
func (tx *sessionTx) AddMessages(ctx context.Context, messages ...Message) error {
	const batch = 100
	columns := sqldb.Columns(messageColumns)
	for part := range slices.Chunk(messages, batch) {
		var query strings.Builder
		query.WriteString("INSERT INTO messages (" + messageColumns + ") VALUES ")
		args := make([]any, 0, columns*len(part))
		for i, m := range part {
			if i > 0 {
				query.WriteString(", ")
			}
			query.WriteString("(" + sqldb.Placeholders(i*columns+1, columns) + ")")
			args = append(args, m.Tenant, m.SessionID, m.Seq, m.ID, m.TurnID, int64(m.TurnSeq), m.Data, cmp.Or(m.Place, m.Seq))
		}
		if _, err := sqldb.Exec(ctx, tx, query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}
