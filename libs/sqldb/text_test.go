package sqldb_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/sqldb"
)

// TestTextThatCannotBeStored: such text is the caller's mistake, in writes and in queries. SQLite accepts all text.
func TestTextThatCannotBeStored(t *testing.T) {
	each(t, func(t *testing.T, db *sqldb.DB) {
		for name, text := range map[string]string{"NUL": "a\x00b", "no UTF-8": "a\xffb"} {
			_, asked := sqldb.One(t.Context(), db.Reader(), sqldb.Column[int], "SELECT n FROM items WHERE id = $1", text)
			_, listed := sqldb.All(t.Context(), db.Reader(), sqldb.Column[int], "SELECT n FROM items WHERE id = $1", text)
			inside := db.Read(t.Context(), func(q sqldb.Querier) error {
				_, err := sqldb.One(t.Context(), q, sqldb.Column[int], "SELECT n FROM items WHERE id = $1", text)
				return err
			})
			for what, err := range map[string]error{
				"one": asked, "all": listed, "in a transaction": inside,
				"written": insert(t.Context(), db, text),
			} {
				switch {
				case db.Dialect() == sqldb.Postgres && (!errors.Is(err, sqldb.ErrText) || fault.Status(err).Code() != codes.InvalidArgument):
					t.Errorf("%s, %s: %v", name, what, err)
				case db.Dialect() == sqldb.SQLite && err != nil && !errors.Is(err, sqldb.ErrNotFound):
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
		if err := insert(context.WithoutCancel(t.Context()), db, "after"); err != nil {
			t.Errorf("after that: %v", err)
		}
	})
}
