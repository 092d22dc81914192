package store

import (
	"context"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Compaction says what models are shown in the place of older messages of a session.
type Compaction struct {
	// Tenant, SessionID and Seq name it; Seq is that of its event, for one that a forked session began with that of session.forked.
	Tenant, SessionID string
	Seq               uint32
	// TurnID is the turn that made it.
	TurnID string
	// To is where the last message stands that it stands for.
	To Point
	// Data is the windlass.turn.v1.ContextCompacted.
	Data []byte
}

const compactionColumns = "tenant, session_id, seq, turn_id, to_turn_seq, to_place, to_seq, data"

func scanCompaction(s sqldb.Scanner) (c Compaction, err error) {
	err = s.Scan(&c.Tenant, &c.SessionID, &c.Seq, &c.TurnID, &c.To.TurnSeq, &c.To.Place, &c.To.Seq, &c.Data)
	return c, err
}

var insertCompactions = sqldb.Insert("compactions", compactionColumns)

// AddCompaction stores a compaction of a locked session.
func (tx *sessionTx) AddCompaction(ctx context.Context, c Compaction) error {
	_, err := sqldb.Exec(ctx, tx, insertCompactions,
		c.Tenant, c.SessionID, int64(c.Seq), c.TurnID, int64(c.To.TurnSeq), c.To.Place, c.To.Seq, c.Data)
	return err
}

// Compaction reads the newest one of a session whose event is not after seq. ErrNotFound when there is none.
func (s *sessionReader) Compaction(ctx context.Context, tenant, session string, seq uint32) (Compaction, error) {
	return rows.One(ctx, s.DB.Reader(), scanCompaction, newestCompaction, tenant, session, int64(seq))
}

// Compaction is the same for a locked session.
func (tx *sessionTx) Compaction(ctx context.Context, tenant, session string, seq uint32) (Compaction, error) {
	return sqldb.One(ctx, tx, scanCompaction, newestCompaction, tenant, session, int64(seq))
}

const newestCompaction = "SELECT " + compactionColumns + ` FROM compactions
	WHERE tenant = $1 AND session_id = $2 AND seq <= $3 ORDER BY seq DESC LIMIT 1`

// MessageOf reads a message of a locked session by its id. ErrNotFound when the session has none with it.
func (tx *sessionTx) MessageOf(ctx context.Context, tenant, session, id string) (Message, error) {
	return sqldb.One(ctx, tx, scanMessage, "SELECT "+messageColumns+" FROM messages WHERE tenant = $1 AND id = $2 AND session_id = $3", tenant,
		id, session)
}

// SizeAfter sums up the sizes of a locked session's messages after a point in the conversation.
func (tx *sessionTx) SizeAfter(ctx context.Context, tenant, session string, p Point) (int64, error) {
	return sqldb.One(ctx, tx, sqldb.Column[int64], `SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM messages
		WHERE tenant = $1 AND session_id = $2 AND (turn_seq, place, seq) > ($3, $4, $5)`, tenant, session, int64(p.TurnSeq), p.Place, p.Seq)
}
