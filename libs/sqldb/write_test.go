package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// Two transactions lock two rows in opposite order: Postgres rolls one back, which runs again and succeeds.
func TestDeadlockIsRetried(t *testing.T) {
	db := migrated(t, testpg.URL(t))
	ctx := t.Context()
	for _, id := range []string{"a", "b"} {
		if err := insert(ctx, db, id); err != nil {
			t.Fatal(err)
		}
	}
	var runs atomic.Int32
	var both sync.WaitGroup
	both.Add(2)
	var wg sync.WaitGroup
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		wg.Go(func() {
			first := true
			err := db.Write(ctx, func(tx sqldb.Tx) error {
				runs.Add(1)
				if err := sqldb.ExecOne(ctx, tx, "UPDATE items SET n = n + 1 WHERE id = $1", order[0]); err != nil {
					return err
				}
				if first {
					first = false
					both.Done()
					both.Wait()
				}
				return sqldb.ExecOne(ctx, tx, "UPDATE items SET n = n + 1 WHERE id = $1", order[1])
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if runs.Load() < 3 { // more if the rolled-back one is faster than the one that waits for its row
		t.Errorf("%d runs, want two and one again", runs.Load())
	}
}

func TestEndlessConflictGivesUp(t *testing.T) {
	db := migrated(t, testpg.URL(t))
	runs := 0
	err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		runs++
		_, err := tx.ExecContext(t.Context(), "DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$")
		return err
	})
	if !errors.Is(err, sqldb.ErrConflict) || runs != 5 {
		t.Errorf("Write = %v after %d runs", err, runs)
	}
}

// SQLite writers are served in order of arrival.
func TestWritersQueueInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := migrated(t, sqliteURL(t))
		var order []int
		gate := make(chan struct{})
		go func() {
			_ = db.Write(t.Context(), func(sqldb.Tx) error {
				<-gate
				return nil
			})
		}()
		synctest.Wait()
		for i := range 20 {
			go func() {
				err := db.Write(t.Context(), func(sqldb.Tx) error {
					order = append(order, i) // one writer at a time
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait() // it is in the queue
		}
		close(gate)
		synctest.Wait()
		if len(order) != 20 || !slices.IsSorted(order) {
			t.Errorf("order = %v", order)
		}
	})
}

func TestWaitingWriterGivesUpWithItsContext(t *testing.T) {
	db := migrated(t, sqliteURL(t))
	err := db.Write(t.Context(), func(sqldb.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		waited := make(chan error)
		go func() { waited <- insert(ctx, db, "a") }()
		if err := <-waited; !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("Write beside another = %w", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func benchmarkEach(b *testing.B, f func(b *testing.B, db *sqldb.DB)) {
	b.Run(sqldb.SQLite, func(b *testing.B) { f(b, migrated(b, sqliteURL(b))) })
	b.Run(sqldb.Postgres, func(b *testing.B) { f(b, migrated(b, testpg.URL(b))) })
}

// BenchmarkWrite inserts one row of 200 bytes per transaction and reports the median.
func BenchmarkWrite(b *testing.B) { benchmarkWrite(b, (*sqldb.DB).Write) }

// BenchmarkWriteDurable is BenchmarkWrite with the row on disk.
func BenchmarkWriteDurable(b *testing.B) { benchmarkWrite(b, (*sqldb.DB).WriteDurable) }

func benchmarkWrite(b *testing.B, write func(*sqldb.DB, context.Context, func(sqldb.Tx) error) error) {
	benchmarkEach(b, func(b *testing.B, db *sqldb.DB) {
		body := make([]byte, 200)
		var took []time.Duration
		for b.Loop() {
			begin := time.Now()
			err := write(db, b.Context(), func(tx sqldb.Tx) error {
				_, err := tx.ExecContext(b.Context(), "INSERT INTO items (id, n, raw) VALUES ($1, $2, $3)", ids.New("x"), 1, body)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begin))
		}
		report(b, took)
	})
}

// BenchmarkWriteParallel uses 16 writers.
func BenchmarkWriteParallel(b *testing.B) {
	benchmarkEach(b, func(b *testing.B, db *sqldb.DB) {
		body := make([]byte, 200)
		var mu sync.Mutex
		var took []time.Duration
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				begin := time.Now()
				if err := db.Write(b.Context(), func(tx sqldb.Tx) error {
					_, err := tx.ExecContext(b.Context(), "INSERT INTO items (id, n, raw) VALUES ($1, $2, $3)", ids.New("x"), 1, body)
					return err
				}); err != nil {
					b.Error(err)
				}
				d := time.Since(begin)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
			}
		})
		report(b, took)
	})
}

func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// BenchmarkReadLimit reads with a parameter as limit.
func BenchmarkReadLimit(b *testing.B) {
	db := migrated(b, sqliteURL(b))
	if err := insert(b.Context(), db, "a"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, err := sqldb.All(b.Context(), db.Reader(), sqldb.Column[string], "SELECT id FROM items WHERE id >= $1 ORDER BY id LIMIT $2", "a", 10)
		if err != nil {
			b.Fatal(err)
		}
	}
}
