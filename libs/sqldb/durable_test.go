package sqldb_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// TestConcurrentDurableWritesShareAFlush: callers that commit during a flush share the next one.
func TestConcurrentDurableWritesShareAFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		flushes := 0
		gate := make(chan struct{})
		db, err := sqldb.Open(t.Context(), sqldb.Config{URL: sqliteURL(t), Schema: "shop", Flush: func(*os.File) error {
			mu.Lock()
			flushes++
			mu.Unlock()
			<-gate
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
			t.Fatal(err)
		}
		durable := func(id string) error {
			return db.WriteDurable(t.Context(), func(tx sqldb.Tx) error {
				return sqldb.ExecOne(t.Context(), tx, "INSERT INTO items (id, n) VALUES ($1, 1)", id)
			})
		}
		var all sync.WaitGroup
		for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
			all.Go(func() {
				if err := durable(id); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // committed; the first caller flushes, the others wait
		}
		if n := count(t, db, "items"); n != 6 {
			t.Errorf("%d rows are committed while the flush runs", n)
		}
		close(gate)
		all.Wait()
		if flushes != 2 {
			t.Errorf("%d flushes for 6 transactions, want 2", flushes)
		}
	})
}

func TestAFlushThatFailsIsTold(t *testing.T) {
	broken := errors.New("disk is gone")
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: sqliteURL(t), Schema: "shop", Flush: func(*os.File) error { return broken }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := db.WriteDurable(t.Context(), func(sqldb.Tx) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("WriteDurable = %v", err)
	}
}
