package sqldb_test

import (
	"database/sql"
	"errors"
	"net/url"
	"testing"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// TestFailOver: with the servers of a primary and its replica in one URL, a database is used again when the replica has taken over.
func TestFailOver(t *testing.T) {
	primary := testpg.Own(t)
	replica := primary.Replica()
	both := mustParse(t, primary.URL())
	both.Host = mustParse(t, replica.URL()).Host + "," + both.Host // the order does not matter
	both.RawQuery += "&target_session_attrs=read-write"
	db := migrated(t, both.String())
	if err := insert(t.Context(), db, "before"); err != nil {
		t.Fatal(err)
	}
	follower, err := sql.Open("pgx", replica.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = follower.Close() }() // it was only read from
	testpoll.Until(t, "the replica has the row", func() bool {
		var rows int
		return follower.QueryRowContext(t.Context(), "SELECT count(*) FROM shop.items").Scan(&rows) == nil && rows == 1
	})
	primary.Stop()
	if err := insert(t.Context(), db, "between"); !errors.Is(err, sqldb.ErrUnavailable) {
		t.Errorf("without a primary: %v, want ErrUnavailable", err)
	}
	replica.Promote()
	testpoll.Until(t, "the replica is used", func() bool { return insert(t.Context(), db, "after") == nil })
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := count(t, db, "items"); n != 2 {
		t.Errorf("%d rows, want those that were committed", n)
	}
}

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
