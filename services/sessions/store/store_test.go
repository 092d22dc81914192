package store_test

import (
	"context"
	"testing"

	"github.com/windlass-dev/windlass/libs/eventlog"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/libs/testdb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/sessions/store"
	"github.com/windlass-dev/windlass/services/sessions/store/storetest"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

// tables are copied for each test.
var tables = testdb.New("sessions", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

func TestSQLite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store {
		return open(t, tables.SQLite(t))
	})
}

// TestPostgres has one connection: a statement outside of an open transaction would wait for it for ever. Its role cannot change tables.
func TestPostgres(t *testing.T) {
	storetest.Run(t, func(t *testing.T) *store.Store { return openWith(t, tables.Restricted(t), 1) })
}

// rare are statements about few rows (webhooks, what the outbox holds, whether there is any budget), those of deleting a session, and
// counts of all sessions and messages of a tenant, of the turns and waits that have not ended, and totals, which have few rows.
var rare = []string{
	"FROM webhooks WHERE", "FROM turn_outbox WHERE claimed_until_us <= $1 LIMIT 1", "EXISTS (SELECT 1 FROM budgets b",
	"DELETE FROM turn_idempotency WHERE", "DELETE FROM turn_outbox WHERE", "DELETE FROM budgets WHERE tenant = $1 AND scope = 'turn'",
	"SELECT (SELECT count(*) FROM sessions", "SELECT DISTINCT tenant, session_id FROM turns",
	"FROM turns WHERE end_us = 0 GROUP BY status", "FROM turn_waits WHERE verdict = 0 GROUP BY kind", "FROM ended_totals",
	"SELECT (SELECT count(*) FROM (SELECT 1 FROM turns", "SELECT count(*), coalesce(min(",
}

func open(t *testing.T, url string) *store.Store {
	t.Helper()
	return openWith(t, url, 0)
}

func openWith(t *testing.T, url string, conns int) *store.Store {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "sessions", MaxConns: conns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, append(eventlog.Scans(), rare...)...)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
