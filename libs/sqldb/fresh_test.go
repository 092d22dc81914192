package sqldb_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/windlass-dev/windlass/libs/sqldb"
)

func freshItems(t *testing.T, db *sqldb.DB, read func(ctx context.Context, id string) (int, error)) *sqldb.Fresh[string, int] {
	t.Helper()
	return sqldb.NewFresh(db, 8, []string{"items"}, read)
}

// TestFreshValuesHaveEveryChange: one replica reads while another writes; no read that begins after a write has ended misses it.
func TestFreshValuesHaveEveryChange(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		other, err := db.View(t.Context(), db.Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = other.Close() })
		if err := insert(t.Context(), db, "a"); err != nil {
			t.Fatal(err)
		}
		f := freshItems(t, db, func(ctx context.Context, id string) (int, error) {
			return sqldb.One(ctx, db.Reader(), sqldb.Column[int], "SELECT n FROM items WHERE id = $1", id)
		})
		var written atomic.Int64
		first, err := f.Get(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var readers sync.WaitGroup
		stop := make(chan struct{})
		for range 8 {
			readers.Go(func() {
				for {
					before := written.Load()
					n, err := f.Get(t.Context(), "a")
					if err != nil || int64(n-first) < before {
						t.Errorf("%d after %d changes: %v", n-first, before, err)
						return
					}
					select {
					case <-stop:
						return
					default:
					}
				}
			})
		}
		for range 200 {
			err := other.Write(t.Context(), func(tx sqldb.Tx) error {
				return sqldb.ExecOne(t.Context(), tx, "UPDATE items SET n = n + 1 WHERE id = $1", "a")
			})
			if err != nil {
				t.Fatal(err)
			}
			written.Add(1)
		}
		close(stop)
		readers.Wait()
		if _, err := f.Get(t.Context(), "none"); !errors.Is(err, sqldb.ErrNotFound) {
			t.Errorf("%v", err)
		}
	})
}

// On SQLite a value is read again only after a change of its tables, and only a few are kept.
func TestFreshValuesAreKeptOnSQLite(t *testing.T) {
	db := migrated(t, sqliteURL(t))
	reads := 0
	f := freshItems(t, db, func(context.Context, string) (int, error) {
		reads++
		return reads, nil
	})
	get := func(id string, want int) {
		t.Helper()
		if _, err := f.Get(t.Context(), id); err != nil || reads != want {
			t.Errorf("%d reads, want %d: %v", reads, want, err)
		}
	}
	get("a", 1)
	get("a", 1)
	if err := insert(t.Context(), db, "b"); err != nil {
		t.Fatal(err)
	}
	get("a", 2)
	failed := errors.New("failed")
	for _, query := range []string{"SELECT n FROM items WHERE id = $1", "DELETE FROM items WHERE id = $1"} {
		err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			if _, err := sqldb.All(t.Context(), tx, sqldb.Column[int], query, "c"); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
	}
	get("a", 3) // the transaction may have been committed before it failed
	for i := range 8 {
		get("other"+strconv.Itoa(i), 4+i)
	}
	get("a", 12)
}

// TestFreshReadsAreShared: callers that come while a value is read share the next read, which begins after they came.
func TestFreshReadsAreShared(t *testing.T) {
	db := migrated(t, sqliteURL(t))
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		release := make(chan struct{})
		f := freshItems(t, db, func(_ context.Context, key string) (int, error) {
			n := reads.Add(1)
			<-release
			if n == 4 {
				panic("a bug with " + key)
			}
			return int(n), nil
		})
		var all sync.WaitGroup
		want := func(ctx context.Context, key string, n int, failure string) {
			all.Go(func() {
				got, err := f.Get(ctx, key)
				if got != n || (err != nil) != (failure != "") || err != nil && !strings.Contains(err.Error(), failure) {
					t.Errorf("%s: got %d and %v, want %d and %q", key, got, err, n, failure)
				}
			})
		}
		want(t.Context(), "a", 1, "")
		synctest.Wait()
		for range 20 {
			want(t.Context(), "a", 2, "")
		}
		gone, cancel := context.WithCancel(t.Context())
		want(gone, "a", 0, context.Canceled.Error())
		synctest.Wait()
		cancel()
		release <- struct{}{}
		release <- struct{}{}
		all.Wait()
		want(t.Context(), "b", 3, "")
		synctest.Wait()
		want(t.Context(), "b", 0, "a bug with b")
		synctest.Wait()
		close(release)
		all.Wait()
		if n := reads.Load(); n != 4 {
			t.Errorf("%d reads", n)
		}
	})
}
