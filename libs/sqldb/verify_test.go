package sqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/libs/testpoll"
)

// verifying opens a database as a process that leaves migrations to another one, and verifies it.
func verifying(ctx context.Context, cfg sqldb.Config) error {
	cfg.Schema, cfg.Migrations = "shop", sqldb.MigrateVerify
	db, err := sqldb.Open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(ctx, files, "testdata/migrations"), db.Close())
}

// TestAProcessThatVerifiesChangesNothing: it refuses tables of an earlier version, and serves those of its own.
func TestAProcessThatVerifiesChangesNothing(t *testing.T) {
	for engine, database := range map[string]func(testing.TB) string{sqldb.SQLite: sqliteURL, sqldb.Postgres: testpg.URL} {
		t.Run(engine, func(t *testing.T) {
			target := database(t)
			for range 2 {
				if err := verifying(t.Context(), sqldb.Config{URL: target}); !errors.Is(err, sqldb.ErrUnmigrated) ||
					!strings.Contains(err.Error(), "windlassd migrate") || !strings.Contains(err.Error(), "schema shop") {
					t.Errorf("on an empty database: %v, want ErrUnmigrated with what to do", err)
				}
			}
			if err := migrate(t, target, "shop"); err != nil {
				t.Fatal(err)
			}
			if err := verifying(t.Context(), sqldb.Config{URL: target}); err != nil {
				t.Errorf("on a migrated database: %v", err)
			}
		})
	}
}

// migrate migrates and closes a database.
func migrate(t *testing.T, target, schema string) error {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: target, Schema: schema})
	if err != nil {
		return err
	}
	return errors.Join(db.Migrate(t.Context(), files, "testdata/migrations"), db.Close())
}

// TestAProcessThatVerifiesWaitsForTheMigration: a deployment may start its processes with the one that migrates.
func TestAProcessThatVerifiesWaitsForTheMigration(t *testing.T) {
	target := testpg.URL(t)
	var log syncedBuffer
	waits := make(chan error, 1)
	go func() {
		waits <- verifying(t.Context(), sqldb.Config{
			URL: target, MigrationWait: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
	}()
	testpoll.Until(t, "it waits for the schema", func() bool { return strings.Contains(log.String(), "there is no schema shop") })
	db := open(t, target)
	testpoll.Until(t, "it waits for the tables", func() bool {
		return strings.Contains(log.String(), "schema shop is at 0, and this version needs 2")
	})
	if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Error(err)
	}
	if got := db.Migrated(); got.From != 0 || got.To != 2 || !slices.Equal(got.Applied, []int64{1, 2}) {
		t.Errorf("Migrated = %+v", got)
	}
	if err := verifying(t.Context(), sqldb.Config{URL: testpg.URL(t), MigrationWait: time.Millisecond}); !errors.Is(err, sqldb.ErrUnmigrated) {
		t.Errorf("in the end: %v, want ErrUnmigrated", err)
	}
}

type syncedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestARoleThatMayNotMigrate: with rights on rows alone it serves what is migrated, with either setting; before, an error says what to do.
func TestARoleThatMayNotMigrate(t *testing.T) {
	owner := testpg.URL(t)
	db := open(t, owner)
	role := testpg.NewRole()
	if err := testpg.CreateRole(owner, role, "GRANT USAGE ON SCHEMA shop TO "+role); err != nil {
		t.Fatal(err)
	}
	app := testpg.As(t, owner, role)
	if err := migrate(t, app, "other"); !errors.Is(err, sqldb.ErrUnmigrated) || !strings.Contains(err.Error(), "no schema other") {
		t.Errorf("without a schema: %v", err)
	}
	if err := migrate(t, app, "shop"); !errors.Is(err, sqldb.ErrUnmigrated) || !strings.Contains(err.Error(), "may not change") {
		t.Errorf("without tables: %v", err)
	}
	if err := db.Migrate(t.Context(), files, "testdata/migrations"); err != nil {
		t.Fatal(err)
	}
	grants, err := sqldb.Grants([]string{"shop"}, role)
	if err == nil {
		err = try(t, db, grants+grants) // again changes nothing
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(migrate(t, app, "shop"), verifying(t.Context(), sqldb.Config{URL: app})); err != nil {
		t.Errorf("with tables: %v", err)
	}
	served := open(t, app)
	if err := insert(t.Context(), served, "a"); err != nil {
		t.Error(err)
	}
	later := "CREATE TABLE later (id TEXT)"
	if err := try(t, served, later); err == nil {
		t.Error("it may create tables")
	}
	if err := errors.Join(try(t, db, later), try(t, served, "INSERT INTO later (id) VALUES ('a')")); err != nil {
		t.Errorf("in a table that was added later: %v", err)
	}
	for _, statement := range []string{
		"DELETE FROM goose_shop", "DROP TABLE later", "TRUNCATE items", "CREATE SCHEMA mine", "SELECT * FROM pg_authid",
	} {
		if err := try(t, served, statement); err == nil {
			t.Errorf("it may %s", statement)
		}
	}
	if _, err := sqldb.Grants([]string{"shop"}, ""); err == nil {
		t.Error("grants to no role")
	}
	if got, err := sqldb.Grants(nil, `o'b"c`); err != nil || !strings.Contains(got, `'o''b"c'`) {
		t.Errorf("%q, %v", got, err)
	}
}

func try(t *testing.T, db *sqldb.DB, statement string) error {
	t.Helper()
	return db.Write(t.Context(), func(tx sqldb.Tx) error {
		_, err := tx.ExecContext(t.Context(), statement)
		return err
	})
}

// TestTimeouts: a statement that runs or waits for too long is an error that users understand, and migrations are no such statements.
func TestTimeouts(t *testing.T) {
	target := testpg.URL(t)
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: target, Schema: "shop", StatementTimeout: 200 * time.Millisecond, LockTimeout: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	slow := fstest.MapFS{
		"m/001_items.sql": {Data: []byte("CREATE TABLE items (id TEXT NOT NULL PRIMARY KEY, n BIGINT)")},
		"m/002_slow.sql":  {Data: []byte("SELECT pg_sleep(0.3); CREATE TABLE slow (id TEXT)")},
	}
	if err := db.Migrate(t.Context(), slow, "m"); err != nil {
		t.Fatalf("a migration longer than the timeout: %v", err)
	}
	other, err := sql.Open("pgx", target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE shop.items"); err != nil {
		t.Fatal(err)
	}
	for name, statement := range map[string]string{
		"a slow statement": "SELECT pg_sleep(60)", "a lock that another transaction has": "SELECT * FROM items FOR UPDATE",
	} {
		err := db.Write(t.Context(), func(tx sqldb.Tx) error {
			_, err := tx.ExecContext(t.Context(), statement)
			return err
		})
		if !errors.Is(err, sqldb.ErrTimeout) || !strings.Contains(err.Error(), "database.statement_timeout") {
			t.Errorf("%s: %v, want ErrTimeout", name, err)
		}
	}
	if _, err := sqldb.Open(t.Context(), sqldb.Config{URL: target, Schema: "shop", LockTimeout: -1}); err == nil {
		t.Error("a timeout below 0 is accepted")
	}
	if _, err := sqldb.Open(t.Context(), sqldb.Config{URL: target, Schema: "shop", Migrations: "never"}); err == nil {
		t.Error("migrations that are neither auto nor verify are accepted")
	}
}
