package totalsdb

import (
	"context"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/services/sessions/store/rows"
)

// SessionCounts counts the sessions of a tenant, their messages, and the sessions in which a turn was created since a time.
type SessionCounts struct {
	Sessions, Messages, Active int64
}

// SessionCounts reads the counts of a tenant. An expression is counted instead of the column so that SQLite reads the last turns by time
// rather than all by session.
func (s *Reader) SessionCounts(ctx context.Context, tenant string, since time.Time) (SessionCounts, error) {
	counts, err := sqldb.One(ctx, s.DB.Reader(), scanSessionCounts, `SELECT (SELECT count(*) FROM sessions WHERE tenant = $1),
		(SELECT count(*) FROM messages WHERE tenant = $1),
		(SELECT count(DISTINCT session_id || '') FROM turns WHERE tenant = $1 AND create_us >= $2)`, tenant, sqldb.Micros(since))
	return counts, rows.Meaning(err)
}

func scanSessionCounts(s sqldb.Scanner) (c SessionCounts, err error) {
	err = s.Scan(&c.Sessions, &c.Messages, &c.Active)
	return c, err
}

// ActiveSessions counts the sessions of all tenants with a turn that has not ended.
func (s *Reader) ActiveSessions(ctx context.Context) (int64, error) {
	n, err := sqldb.One(ctx, s.DB.Reader(), sqldb.Column[int64], `SELECT count(*) FROM (SELECT DISTINCT tenant, session_id FROM turns
		WHERE end_us = 0) AS active`)
	return n, rows.Meaning(err)
}
