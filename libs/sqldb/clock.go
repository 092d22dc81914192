package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// measureEvery is the maximum age of the newest clock reading when a connection is taken from the pool.
const measureEvery = 5 * time.Second

// Now returns the time of the database, in UTC to the microsecond. All stored times and decisions about them use it, so that processes that
// share a database agree whatever their own clocks say. On PostgreSQL it is the server's clock, read on each new connection and every five
// seconds and extrapolated in between, so it needs no round trip; its error is at most half a round trip. A SQLite file belongs to one
// process, so there it is the host's clock.
func (db *DB) Now() time.Time {
	if db.cfg.Now != nil {
		return db.cfg.Now().UTC().Truncate(time.Microsecond)
	}
	return db.clock.Now()
}

// session checks the connections of a pool.
type session struct{ *DB }

// check makes the pool ask each new connection which schema it uses, and what the server's clock says. Later it asks again when the
// newest reading is old: behind a pooler a connection may be to another session or server by then.
func (s session) check(pc *pgxpool.Config) {
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		async, err := s.read(ctx, conn)
		if err != nil || !async || s.cfg.FlushOn == FlushCalls {
			return err
		}
		// The server's default would confirm commits before they are on disk.
		_, err = conn.Exec(ctx, "SET synchronous_commit = on")
		return err
	}
	pc.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if s.cfg.Now != nil || !s.clock.Stale(measureEvery) {
			return true, nil
		}
		// Drop a connection that does not answer, or not as it should, and take another one.
		_, err := s.read(ctx, conn)
		return err == nil, nil
	}
}

// read returns ErrSchema for a session that does not use the service's schema, reads the server's clock, and reports whether
// commits are confirmed before they are on disk. The simple protocol saves the round trip that prepares the statement.
func (s session) read(ctx context.Context, conn *pgx.Conn) (async bool, err error) {
	var at time.Time
	var schema, commit string
	before := s.clock.Local()
	if err := conn.QueryRow(ctx, "SELECT clock_timestamp(), coalesce(current_schema(), ''), current_setting('synchronous_commit')",
		pgx.QueryExecModeSimpleProtocol).Scan(&at, &schema, &commit); err != nil {
		return false, fmt.Errorf("read the server's clock and settings: %w", err)
	}
	if schema != s.schema {
		return false, fmt.Errorf("%w: it is %q, not %q", ErrSchema, schema, s.schema)
	}
	if s.cfg.Now == nil {
		s.clock.Observe(at, before, s.clock.Local())
	}
	return commit == "off", nil
}
