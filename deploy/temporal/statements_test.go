package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	temporalsql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
	"modernc.org/sqlite"
)

// keptPool opens a pool over a new file.
func keptPool(t *testing.T) *sql.DB {
	t.Helper()
	cfg := fileConfig(filepath.Join(t.TempDir(), "t.db"))
	cfg.ConnectAttributes["mode"] = "rwc"
	connector, err := sqlite.NewConnector(dsn(cfg))
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(keeper{connector})
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	for _, stmt := range []string{"CREATE TABLE t (n INTEGER PRIMARY KEY, s TEXT)", "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"} {
		if _, err := pool.ExecContext(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

// kept returns how many idle statements the only connection of a pool has.
func kept(t *testing.T, pool *sql.DB) (n int) {
	t.Helper()
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Raw(func(c any) error {
		n = len(c.(*keptConn).statements)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestStatementsAreKept(t *testing.T) {
	t.Parallel()
	pool := keptPool(t)
	before := kept(t, pool)
	for n := range 50 {
		if _, err := pool.ExecContext(t.Context(), "UPDATE t SET s = ? WHERE n = ?", n, 1); err != nil {
			t.Fatal(err)
		}
		var got string
		if err := pool.QueryRowContext(t.Context(), "SELECT s FROM t WHERE n = ?", 2).Scan(&got); err != nil || got != "b" {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	if n := kept(t, pool); n != before+2 {
		t.Errorf("%d statements are kept, want %d", n-before, 2)
	}
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO t VALUES (?, 'again')", 1); err == nil {
		t.Error("a duplicate was written")
	}
	if _, err := pool.ExecContext(t.Context(), "INSERT INTO t VALUES (?, 'd')", 4); err != nil {
		t.Errorf("after an error: %v", err)
	}
	if _, err := pool.ExecContext(t.Context(), "ALTER TABLE t ADD COLUMN more TEXT"); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := pool.QueryRowContext(t.Context(), "SELECT s FROM t WHERE n = ?", 4).Scan(&got); err != nil || got != "d" {
		t.Errorf("after a change of the schema: %q, %v", got, err)
	}
}

// TestAStatementWhileItsRowsAreRead has a transaction execute a statement again before it has read the rows of the first time.
func TestAStatementWhileItsRowsAreRead(t *testing.T) {
	t.Parallel()
	pool := keptPool(t)
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to undo
	const query = "SELECT n FROM t WHERE n >= ? ORDER BY n"
	rows, err := tx.QueryContext(t.Context(), query, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var outer, inner []int
	for rows.Next() {
		var n, first int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		outer = append(outer, n)
		if err := tx.QueryRowContext(t.Context(), query, n+1).Scan(&first); err == nil {
			inner = append(inner, first)
		}
	}
	if err := rows.Err(); err != nil || !slices.Equal(outer, []int{1, 2, 3}) || !slices.Equal(inner, []int{2, 3}) {
		t.Errorf("read %v and %v, %v", outer, inner, err)
	}
}

func TestACallerThatLeft(t *testing.T) {
	t.Parallel()
	pool := keptPool(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := pool.ExecContext(gone, "DELETE FROM t"); err == nil {
		t.Error("a statement of a caller that left was executed")
	}
}

// TestTemporalKeepsItsStatements fails when the plugin of another version of the server has its pool elsewhere.
func TestTemporalKeepsItsStatements(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"file": filepath.Join(t.TempDir(), "t.db"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := openDatabase(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.close()
			for range 2 { // the second finds everything done
				if err := ensureNamespaces(t.Context(), db.sql, []string{"one"}, windlassAttributes); err != nil {
					t.Fatal(err)
				}
			}
			if _, ok := poolOf(t, db.sql).Driver().(keeper); !ok {
				t.Error("the plugin parses each statement")
			}
			if _, err := os.Stat(path); path != "" && err != nil {
				t.Error(err)
			}
		})
	}
}

// poolOf returns the pool that the server will use.
func poolOf(t *testing.T, cfg *config.SQL) *sql.DB {
	t.Helper()
	db, err := temporalsql.NewSQLDB(sqlplugin.DbKindVisibility, cfg, resolver.NewNoopResolver(), log.NewNoopLogger(), metrics.NoopMetricsHandler)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pluginPool(db)
	if err != nil {
		t.Fatal(err)
	}
	return pool.DB
}
