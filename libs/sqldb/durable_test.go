package sqldb_test

import (
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
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

// TestAnswersWaitForTheirCommits: what a tracked call has committed is flushed once, before its answer, and only then; how much else is,
// is a setting.
func TestAnswersWaitForTheirCommits(t *testing.T) {
	for _, row := range []struct {
		on                                        string
		written, answered, again, other, explicit int // flushes after a write, the answer, a second answer, a call that wrote nothing, Flush
	}{
		{sqldb.FlushPromises, 0, 1, 1, 1, 2},
		{"", 0, 1, 1, 1, 2},
		{sqldb.FlushCommits, 2, 2, 2, 2, 3},
		{sqldb.FlushCalls, 0, 0, 0, 0, 0},
	} {
		t.Run("flush on "+row.on, func(t *testing.T) {
			flushes := 0
			db, err := sqldb.Open(t.Context(), sqldb.Config{
				URL: sqliteURL(t), Schema: "shop", FlushOn: row.on, Flush: func(*os.File) error { flushes++; return nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
				t.Fatal(err)
			}
			must := func(err error, want int, what string) {
				t.Helper()
				if err != nil || flushes != want {
					t.Errorf("%s: %d flushes, want %d; %v", what, flushes, want, err)
				}
			}
			call, answer := sqldb.Track(t.Context())
			must(errors.Join(insert(call, db, "a"), insert(call, db, "b")), row.written, "two writes of a call")
			must(answer(), row.answered, "its answer")
			must(answer(), row.again, "a further answer")
			_, answer = sqldb.Track(t.Context())
			must(answer(), row.other, "a call that writes nothing")
			if err := insert(sqldb.Untracked(call), db, "c"); err != nil {
				t.Fatal(err)
			}
			must(db.Flush(), row.explicit, "Flush")
		})
	}
	if _, err := sqldb.Open(t.Context(), sqldb.Config{URL: sqliteURL(t), Schema: "shop", FlushOn: "never"}); err == nil {
		t.Error("an unknown setting is accepted")
	}
}

// TestPostgresConfirmsWhatIsOnDisk: the server of the tests confirms commits early by default; the connections ask for the contrary.
func TestPostgresConfirmsWhatIsOnDisk(t *testing.T) {
	db := open(t, testpg.URL(t))
	if got, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[string], "SELECT current_setting('synchronous_commit')"); err != nil ||
		got != "on" {
		t.Errorf("synchronous_commit = %q, %v", got, err)
	}
}
