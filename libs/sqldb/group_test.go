package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

// grouped runs writers that wait for the same one, and returns their errors. Each inserts its rows and then calls also.
func grouped(t *testing.T, db *sqldb.DB, writers int, also func(ctx context.Context, writer int) error) []error {
	t.Helper()
	errs := make([]error, writers)
	gate := make(chan struct{})
	for i := range writers {
		go func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = db.Write(t.Context(), func(tx sqldb.Tx) error {
				if i == 0 {
					<-gate
				}
				if _, err := tx.ExecContext(t.Context(), "INSERT INTO items (id, n) VALUES ($1, $2)", fmt.Sprint(i), i); err != nil {
					return err
				}
				return also(t.Context(), i)
			})
		}()
		synctest.Wait()
	}
	close(gate)
	synctest.Wait()
	return errs
}

func stored(t *testing.T, db *sqldb.DB) string {
	t.Helper()
	all, err := sqldb.All(t.Context(), db.Reader(), sqldb.Column[string], "SELECT id FROM items ORDER BY n")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestAWriterThatFailsDoesNotAffectTheOthers: they share a transaction, which is rolled back.
func TestAWriterThatFailsDoesNotAffectTheOthers(t *testing.T) {
	bad := errors.New("bad")
	for name, fail := range map[string]func() error{
		"an error": func() error { return bad },
		"a panic":  func() error { panic(bad) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := migrated(t, sqliteURL(t))
				runs := make([]int, 6)
				errs := grouped(t, db, len(runs), func(_ context.Context, i int) error {
					if runs[i]++; i == 3 {
						return fail()
					}
					return nil
				})
				for i, err := range errs {
					if (err != nil) != (i == 3) || err != nil && !strings.Contains(err.Error(), "bad") {
						t.Errorf("writer %d: %v", i, err)
					}
				}
				if got := stored(t, db); got != "0 1 2 4 5" {
					t.Errorf("written: %s after %v runs", got, runs)
				}
			})
		})
	}
}

// TestAWriterThatGivesUpLeavesTheOthers: its context ends while it waits, or while it writes.
func TestAWriterThatGivesUpLeavesTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := migrated(t, sqliteURL(t))
		ctx, cancel := context.WithCancel(t.Context())
		gate, gone := make(chan struct{}), make(chan error, 1)
		insert := func(ctx context.Context, id string) error {
			return db.Write(ctx, func(tx sqldb.Tx) error {
				if id == "1" {
					<-gate
				}
				_, err := tx.ExecContext(ctx, "INSERT INTO items (id, n) VALUES ($1, $1)", id)
				return err
			})
		}
		go func() {
			if err := insert(t.Context(), "1"); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		go func() { gone <- insert(ctx, "2") }()
		synctest.Wait()
		go func() {
			if err := insert(t.Context(), "3"); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		close(gate)
		cancel() // the second may have the connection by now
		synctest.Wait()
		if err := <-gone; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if got := stored(t, db); got != "1 3" && got != "1 2 3" {
			t.Errorf("written: %s", got)
		}
	})
}

// TestNobodyWaitsWithAWriterThatIsAlone: those before it have committed when its function runs.
func TestNobodyWaitsWithAWriterThatIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := migrated(t, sqliteURL(t))
		first, alone := make(chan struct{}), make(chan struct{})
		done := make(chan string, 2)
		write := func(name string, write func(context.Context, func(sqldb.Tx) error) error, gate chan struct{}) {
			err := write(t.Context(), func(tx sqldb.Tx) error {
				<-gate
				_, err := tx.ExecContext(t.Context(), "INSERT INTO items (id, n) VALUES ($1, 1)", name)
				return err
			})
			done <- fmt.Sprint(name, " ", err)
		}
		go write("first", db.Write, first)
		synctest.Wait()
		go write("alone", db.WriteAlone, alone)
		synctest.Wait()
		close(first)
		synctest.Wait()
		if got := <-done; got != "first <nil>" || stored(t, db) != "first" {
			t.Errorf("%s, stored %s", got, stored(t, db))
		}
		close(alone)
		if got := <-done; got != "alone <nil>" {
			t.Error(got)
		}
	})
}
