package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/windlass-dev/windlass/libs/refclock"
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

// measure makes the pool read the server's clock: on each new connection, which may be to another server, and when the newest reading is
// old.
func (db *DB) measure(pc *pgxpool.Config) {
	if db.cfg.Now != nil {
		return
	}
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return readClock(ctx, conn, db.clock) }
	pc.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if !db.clock.Stale(measureEvery) {
			return true, nil
		}
		// Drop a connection that cannot answer, and take another one.
		return readClock(ctx, conn, db.clock) == nil, nil
	}
}

// readClock takes one reading. The simple protocol saves the round trip that prepares the statement.
func readClock(ctx context.Context, conn *pgx.Conn, clock *refclock.Clock) error {
	var at time.Time
	before := clock.Local()
	if err := conn.QueryRow(ctx, "SELECT clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&at); err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	clock.Observe(at, before, clock.Local())
	return nil
}
