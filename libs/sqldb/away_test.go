package sqldb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
)

// A server that goes away in the middle of anything is reported as unavailable, not as a bug, and is used again once it is back.
func TestPostgresGoesAway(t *testing.T) {
	server := testpg.Own(t)
	db := migrated(t, server.URL())
	write := func(id string, before, after func()) error {
		return db.Write(t.Context(), func(tx sqldb.Tx) error {
			before()
			_, err := tx.ExecContext(t.Context(), "INSERT INTO items (id, n) VALUES ($1, 1)", id)
			if err == nil {
				after()
			}
			return err
		})
	}
	none := func() {}
	for _, row := range []struct {
		name string
		try  func() error
	}{
		{"before a statement of a transaction", func() error { return write("a", server.Stop, none) }},
		{"before the commit", func() error { return write("b", none, server.Stop) }},
		{"before a read", func() error {
			server.Stop()
			_, err := sqldb.One(t.Context(), db.Reader(), sqldb.Column[int64], "SELECT count(*) FROM items")
			return err
		}},
		{"before a transaction", func() error { server.Stop(); return write("c", none, none) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := row.try(); !errors.Is(err, sqldb.ErrUnavailable) {
				t.Errorf("%v, want ErrUnavailable", err)
			}
			server.Start()
			back := time.Now()
			for write("after "+row.name, none, none) != nil {
				if time.Since(back) > time.Minute {
					t.Fatal("the pool does not recover")
				}
			}
			t.Logf("written again %v after the server was back", time.Since(back))
		})
	}
	if n := count(t, db, "items"); n != 4 {
		t.Errorf("%d rows, want those of the writes after each return", n)
	}
}
