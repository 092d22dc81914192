package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// A caller that goes away during a commit does not make its outcome unknown: it is committed, and the program continues.
func TestACommitOutlivesItsCaller(t *testing.T) {
	url := testpg.URL(t)
	db := migrated(t, url)
	inCommit, release := testpg.HoldCommits(t, url, "shop.items")
	ctx, cancel := context.WithCancel(t.Context())
	written := make(chan error, 1)
	go func() { written <- insert(ctx, db, "a") }()
	inCommit()
	cancel()
	release()
	if err := <-written; err != nil {
		t.Errorf("Write = %v", err)
	}
	if n := count(t, db, "items"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// Before the commit, the end of the caller's context rolls everything back, even while a statement runs.
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
