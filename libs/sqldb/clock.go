package sqldb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// measureEvery is how old the newest reading of the server's clock may be when a connection is taken from the pool.
const measureEvery = 5 * time.Second

// Now returns the time of the database, to the microsecond in UTC: what is stored about time, and judged by it, comes from here, so that all
// processes that share a database agree whatever their own clocks say. On PostgreSQL it is the server's clock, read on each new connection
// and every five seconds, and counted on in between, so it costs no round trip; it is off by half a round trip at most. A SQLite file belongs to one process,
// so there it is the clock of the host.
func (db *DB) Now() time.Time {
	if db.cfg.Now != nil {
		return db.cfg.Now().UTC().Truncate(time.Microsecond)
	}
	return db.clock.Now()
}

// measure has the pool read the server's clock: on each new connection, as that may be to another server, and when the newest reading is old.
func (db *DB) measure(pc *pgxpool.Config) {
	if db.cfg.Now != nil {
		return
	}
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error { return readClock(ctx, conn, db.clock) }
	pc.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
		if !db.clock.Stale(measureEvery) {
			return true, nil
		}
		// A connection that cannot answer is dropped, and another one is taken.
		return readClock(ctx, conn, db.clock) == nil, nil
	}
}

// readClock takes one reading. The simple protocol needs no round trip to prepare the statement.
func readClock(ctx context.Context, conn *pgx.Conn, clock *refclock.Clock) error {
	var at time.Time
	before := clock.Local()
	if err := conn.QueryRow(ctx, "SELECT clock_timestamp()", pgx.QueryExecModeSimpleProtocol).Scan(&at); err != nil {
		return fmt.Errorf("read the server's clock: %w", err)
	}
	clock.Observe(at, before, clock.Local())
	return nil
}
