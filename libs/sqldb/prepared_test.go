package sqldb

import (
	"path/filepath"
	"slices"
	"testing"
)

func TestPositional(t *testing.T) {
	for _, row := range []struct {
		query, want string
		order       []int
	}{
		{"SELECT 1", "SELECT 1", nil},
		{"INSERT INTO t VALUES ($1, $2), ($3, $4)", "INSERT INTO t VALUES (?, ?), (?, ?)", nil},
		{"UPDATE t SET a = $3, b = $2 WHERE c = $1", "UPDATE t SET a = ?, b = ? WHERE c = ?", []int{3, 2, 1}},
		{"SELECT a FROM t WHERE b = 'x' AND c = $1", "SELECT a FROM t WHERE b = 'x' AND c = ?", nil},
		{"UPDATE t SET a = $2 WHERE b = $1 AND c < $2", "UPDATE t SET a = $2 WHERE b = $1 AND c < $2", nil}, // used twice
		{"SELECT a FROM t WHERE b = $2", "SELECT a FROM t WHERE b = $2", nil},                               // without $1
		{"SELECT '$1', $1", "SELECT '$1', $1", nil},
		{"SELECT 'what?', $1", "SELECT 'what?', $1", nil},
		{"SELECT $1 -- not $2", "SELECT $1 -- not $2", nil},
	} {
		if text, order := positional(row.query); text != row.want || !slices.Equal(order, row.order) {
			t.Errorf("%s\nwant %s %v\n got %s %v", row.query, row.want, row.order, text, order)
		}
	}
}

func TestPreparedStatementsGetTheirArguments(t *testing.T) {
	db, err := Open(t.Context(), Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "a.db"), Schema: "a"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	exec := func(query string, args ...any) {
		t.Helper()
		for range 3 { // as text, then prepared
			if err := db.Write(t.Context(), func(tx Tx) error {
				_, err := Exec(t.Context(), tx, query, args...)
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	exec("CREATE TABLE IF NOT EXISTS things (a TEXT PRIMARY KEY, b TEXT, c BIGINT)")
	exec("INSERT INTO things (a, b, c) VALUES ($1, $2, $3) ON CONFLICT (a) DO UPDATE SET c = things.c + 1", "x", "y", 1)
	exec("UPDATE things SET c = c + $3, b = $2 WHERE a = $1", "x", "z", 10)
	exec("UPDATE things SET c = c + $2 WHERE a = $1 AND $2 > 0", "x", 100)
	for range 2 {
		got, err := One(t.Context(), db.Reader(), Column[string], "SELECT a || b || c FROM things WHERE c > $2 AND a = $1 LIMIT $3", "x", 5, 1)
		if err != nil || got != "xz333" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if all := db.writer.stmts; len(all) < 4 {
		t.Errorf("%d statements are prepared", len(all))
	}
}
