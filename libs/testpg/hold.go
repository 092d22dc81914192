package testpg

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// HoldCommits blocks the COMMIT of transactions that insert into a table of the database at url until release is called. reached returns
// when one is blocked. The table's name includes its schema.
func HoldCommits(t testing.TB, url, table string) (reached, release func()) {
	t.Helper()
	holder, listener := connect(t, url), connect(t, url)
	// A notification would be sent by the blocked commit; the end of a connection is noticed at once.
	for _, statement := range []string{
		fmt.Sprintf(`CREATE FUNCTION public.hold_commit() RETURNS trigger LANGUAGE plpgsql AS
			'BEGIN PERFORM pg_terminate_backend(%d); PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END'`, listener.PgConn().PID()),
		"CREATE CONSTRAINT TRIGGER hold_commit AFTER INSERT ON " + table + " DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " +
			"public.hold_commit()",
		"SELECT pg_advisory_lock(4711)",
	} {
		if _, err := holder.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	reached = func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := listener.WaitForNotification(ctx); ctx.Err() != nil {
			t.Fatalf("nothing waits in its commit: %v", err)
		}
	}
	release = func() {
		t.Helper()
		if err := holder.Close(t.Context()); err != nil { // releases its lock
			t.Fatal(err)
		}
	}
	return reached, release
}

// connect opens a connection that ends with the test.
func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // may already be closed
	return conn
}
