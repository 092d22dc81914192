package store

import (
	"context"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// Event is one durable event.
type Event struct {
	// Seq is its place in the session's journal.
	Seq uint32
	// TurnID and Type are those of the envelope.
	TurnID, Type string
	// OpenSeq is the seq that deltas hang on after this event, 0 when no message is open then.
	OpenSeq uint32
	// Time is when it happened.
	Time time.Time
	// Data is the windlass.turn.v1.Event.
	Data []byte
}

func scanEvent(s sqldb.Scanner) (e Event, err error) {
	err = s.Scan(&e.Seq, &e.TurnID, &e.Type, &e.OpenSeq, sqldb.TimeColumn(&e.Time), &e.Data)
	return e, err
}

const eventColumns = "seq, turn_id, type, open_seq, time_us, data"

// Events reads a session's journal in order, after the given seq.
func (s *sessionReader) Events(ctx context.Context, tenant, session string, after uint32, limit int) ([]Event, error) {
	return rows.All(ctx, s.DB.Reader(), scanEvent, "SELECT "+eventColumns+
		" FROM turn_journal WHERE tenant = $1 AND session_id = $2 AND seq > $3 ORDER BY seq LIMIT $4", tenant, session, int64(after), limit)
}

// TurnEvents reads the events of a turn between two seqs, neither of them included: the newest first, or the oldest.
func (s *sessionReader) TurnEvents(ctx context.Context, t Turn, after, before int64, newest bool, limit int) ([]Event, error) {
	order := "seq"
	if newest {
		order = "seq DESC"
	}
	return rows.All(ctx, s.DB.Reader(), scanEvent, "SELECT "+eventColumns+` FROM turn_journal
		WHERE tenant = $1 AND session_id = $2 AND seq > $3 AND seq < $4 AND turn_id = $5 ORDER BY `+order+" LIMIT $6",
		t.Tenant, t.SessionID, after, before, t.ID, limit)
}

// Event reads one event. ErrNotFound when the journal has none with this seq.
func (s *sessionReader) Event(ctx context.Context, tenant, session string, seq uint32) (Event, error) {
	return rows.One(ctx, s.DB.Reader(), scanEvent, "SELECT "+eventColumns+
		" FROM turn_journal WHERE tenant = $1 AND session_id = $2 AND seq = $3", tenant, session, int64(seq))
}

// AddEvents appends events to a locked session's journal.
func (tx *sessionTx) AddEvents(ctx context.Context, tenant, session string, events []Event) error {
	columns := sqldb.Columns(eventColumns) + 2
	var query strings.Builder
	query.WriteString("INSERT INTO turn_journal (tenant, session_id, " + eventColumns + ") VALUES ")
	args := make([]any, 0, columns*len(events))
	for i, e := range events {
		if i > 0 {
			query.WriteString(", ")
		}
		query.WriteString("(" + sqldb.Placeholders(i*columns+1, columns) + ")")
		args = append(args, tenant, session, int64(e.Seq), e.TurnID, e.Type, int64(e.OpenSeq), sqldb.Micros(e.Time), e.Data)
	}
	_, err := sqldb.Exec(ctx, tx, query.String(), args...)
	return err
}
