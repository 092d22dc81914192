package sqldb_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// atCommit has transactions that insert into items wait, in their COMMIT, until release is called. waiting is answered when one does.
func atCommit(t *testing.T, db *sqldb.DB) (waiting func(), release func()) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.Write(ctx, func(tx sqldb.Tx) error {
		for _, statement := range []string{
			`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END'`,
			`CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`,
		} {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}))
	held, done := make(chan struct{}), make(chan struct{})
	over := make(chan error, 1)
	go func() {
		over <- db.Write(context.WithoutCancel(ctx), func(tx sqldb.Tx) error {
			_, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(4711)")
			close(held)
			<-done
			return err
		})
	}()
	<-held
	waiting = func() {
		for range 2000 {
			n, err := sqldb.One(ctx, db.Reader(), func(row sqldb.Scanner) (n int, err error) {
				err = row.Scan(&n)
				return n, err
			}, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted")
			must(err)
			if n > 0 {
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
		t.Fatal("nothing waits in its commit")
	}
	return waiting, func() {
		close(done)
		must(<-over)
	}
}

// Who goes away while a transaction commits does not make its outcome unknown: it is committed, and the program goes on from there.
func TestACommitOutlivesItsCaller(t *testing.T) {
	db := migrated(t, testpg.URL(t))
	waiting, release := atCommit(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- insert(ctx, db, "a") }()
	waiting()
	cancel()
	release()
	if err := <-written; err != nil {
		t.Errorf("Write = %v", err)
	}
	if n := count(t, db, "items"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Before the commit the end of the caller's context undoes everything, also while a statement runs.
func TestATransactionEndsWithItsCaller(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, func(tx sqldb.Tx) error {
			if err := sqldb.ExecOne(ctx, tx, "INSERT INTO items (id, n) VALUES ($1, 0)", "a"); err != nil {
				return err
			}
			cancel()
			return nil
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Write = %v", err)
		}
		if n := count(t, db, "items"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}
