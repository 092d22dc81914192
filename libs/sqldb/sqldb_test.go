package sqldb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func TestWriteAndRead(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		at := time.Date(2026, 11, 20, 1, 2, 3, 456789000, time.UTC)
		err := db.Write(ctx, func(tx sqldb.Tx) error {
			return sqldb.ExecOne(ctx, tx, "INSERT INTO items (id, doc, raw, created) VALUES ($1, $2, $3, $4)",
				"a", `{"n": 12345678901234567890}`, []byte{0, 1, 255}, sqldb.Micros(at))
		})
		if err != nil {
			t.Fatal(err)
		}
		type row struct {
			doc     string
			raw     []byte
			created time.Time
		}
		scan := func(s sqldb.Scanner) (r row, err error) {
			var us int64
			err = s.Scan(&r.doc, &r.raw, &us)
			r.created = sqldb.Time(us)
			return r, err
		}
		got, err := sqldb.One(ctx, db.Reader(), scan, "SELECT doc, raw, created FROM items WHERE id = $1", "a")
		if err != nil {
			t.Fatal(err)
		}
		if got.doc != `{"n": 12345678901234567890}` || string(got.raw) != "\x00\x01\xff" || !got.created.Equal(at) {
			t.Errorf("row = %+v", got)
		}
	})
}

func TestNotFound(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		_, err := sqldb.One(ctx, db.Reader(), sqldb.Column[string], "SELECT id FROM items WHERE id = $1", "nobody")
		if !errors.Is(err, sqldb.ErrNotFound) {
			t.Errorf("One = %v", err)
		}
		all, err := sqldb.All(ctx, db.Reader(), sqldb.Column[string], "SELECT id FROM items")
		if err != nil || all != nil {
			t.Errorf("All = %v, %v", all, err)
		}
		err = db.Write(ctx, func(tx sqldb.Tx) error { return sqldb.ExecOne(ctx, tx, "DELETE FROM items WHERE id = $1", "nobody") })
		if !errors.Is(err, sqldb.ErrNotFound) {
			t.Errorf("ExecOne = %v", err)
		}
	})
}

func TestConstraints(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := insert(ctx, db, "a"); err != nil {
			t.Fatal(err)
		}
		if err := insert(ctx, db, "a"); !sqldb.IsUnique(err) {
			t.Errorf("second insert = %v, want a unique violation", err)
		}
		err := db.Write(ctx, func(tx sqldb.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO parts (item, seq) VALUES ('nobody', 1)")
			return err
		})
		if err == nil || sqldb.IsUnique(err) {
			t.Errorf("orphan insert = %v, want a foreign key violation", err)
		}
	})
}

func TestRollback(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		boom := errors.New("boom")
		write := func(end func() error) error {
			return db.Write(ctx, func(tx sqldb.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO items (id) VALUES ('a')"); err != nil {
					return err
				}
				return end()
			})
		}
		if err := write(func() error { return boom }); !errors.Is(err, boom) {
			t.Errorf("Write = %v, want boom", err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_ = write(func() error { panic("boom") })
		}()
		if n := count(t, db, "items"); n != 0 {
			t.Errorf("%d rows after rollbacks", n)
		}
		if err := write(func() error { return nil }); err != nil { // the writer is available again
			t.Error(err)
		}
	})
}

func TestCancelledWriteLeavesNothing(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Write(ctx, func(tx sqldb.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO items (id) VALUES ('a')"); err != nil {
				return err
			}
			cancel()
			_, err := tx.ExecContext(ctx, "INSERT INTO items (id) VALUES ('b')")
			return err
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Write = %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		if err := db.Write(ctx, func(tx sqldb.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO items (id) VALUES ('c')")
			cancel() // just before the commit
			return err
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("Write = %v", err)
		}
		if n := count(t, db, "items"); n != 0 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestReadSeesOneState(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		err := db.Read(ctx, func(q sqldb.Querier) error {
			for range 2 {
				n, err := sqldb.One(ctx, q, sqldb.Column[int64], "SELECT count(*) FROM items")
				if err != nil || n != 0 {
					return fmt.Errorf("count = %d, %w", n, err)
				}
				inserted := make(chan error)
				go func() { inserted <- insert(ctx, db, time.Now().String()) }()
				if err := <-inserted; err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestReaderCannotWrite(t *testing.T) {
	db := migrated(t, sqliteURL(t))
	rows, err := db.Reader().QueryContext(t.Context(), "INSERT INTO items (id) VALUES ('a') RETURNING id")
	if err == nil {
		defer func() { _ = rows.Close() }() // it was only read from
		rows.Next()
		err = rows.Err()
	}
	if err == nil {
		t.Error("a write through the reader succeeded")
	}
}

// 16 writers increment counters under row locks, and no increment is lost.
func TestConcurrentCounters(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		if err := insert(ctx, db, "c"); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for range 20 {
					if err := increment(ctx, db); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		n, err := sqldb.One(ctx, db.Reader(), sqldb.Column[int64], "SELECT n FROM items WHERE id = 'c'")
		if err != nil || n != 1+16*20 {
			t.Errorf("counter = %d, %v", n, err)
		}
	})
}

func increment(ctx context.Context, db *sqldb.DB) error {
	return db.Write(ctx, func(tx sqldb.Tx) error {
		n, err := sqldb.One(ctx, tx, sqldb.Column[int64], "SELECT n FROM items WHERE id = 'c'"+db.ForUpdate())
		if err != nil {
			return err
		}
		return sqldb.ExecOne(ctx, tx, "UPDATE items SET n = $1 WHERE id = 'c'", n+1)
	})
}

// 16 workers claim 100 rows; none is claimed twice.
func TestConcurrentClaims(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		ctx := t.Context()
		for i := range 100 {
			if err := insert(ctx, db, fmt.Sprintf("i%03d", i)); err != nil {
				t.Fatal(err)
			}
		}
		claim := "UPDATE items SET n = 2 WHERE id = (SELECT id FROM items WHERE n = 1 ORDER BY id LIMIT 1" + db.SkipLocked() + ") RETURNING id"
		var mu sync.Mutex
		claimed := map[string]int{}
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				for {
					var id string
					err := db.Write(ctx, func(tx sqldb.Tx) (err error) {
						id, err = sqldb.One(ctx, tx, sqldb.Column[string], claim)
						return err
					})
					if errors.Is(err, sqldb.ErrNotFound) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					claimed[id]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if len(claimed) != 100 {
			t.Errorf("%d of 100 claimed", len(claimed))
		}
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("%s claimed %d times", id, n)
			}
		}
	})
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("x", 3600))
	if got := sqldb.Time(sqldb.Micros(at)); !got.Equal(at) || got.Location() != time.UTC {
		t.Errorf("Time = %v", got)
	}
	if sqldb.Micros(time.Time{}) != 0 || !sqldb.Time(0).IsZero() {
		t.Error("the zero time is 0")
	}
}
