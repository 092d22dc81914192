package sqldb

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/pressly/goose/v3"
)

// Migrate applies the pending goose migrations (NNN_name.sql) in dir of files, in order. It may run in several processes at once: on
// Postgres one of them works and the others wait. The same files serve both engines; they may contain {{json}} (TEXT or JSONB), {{blob}}
// (BLOB or BYTEA), {{strict}} (" STRICT" or nothing), {{rowless}} (" STRICT, WITHOUT ROWID" or nothing: half the writes for small rows
// found by their key) and {{identity}} (the type of an auto-incrementing integer primary key). Other column types are Postgres's BIGINT,
// BOOLEAN, DOUBLE PRECISION and TEXT in upper case, which are translated for SQLite. Lines after
// "-- +sqlite" or "-- +postgres" are for that engine only, up to the next such line or "-- +all". A file is run in one transaction, up to
// "-- +goose Down"; other annotations of goose have no effect. If ctx ends, completed migrations stay, and none is half applied.
//
// A database with a migration that files do not have is refused: with ErrNewer if it is a later one, else with ErrOlder. Programs of an
// earlier version that run already continue on it, so a migration may only add what they can do without (docs/how-to/upgrades.md).
//
// With Config.Migrations set to MigrateVerify it changes nothing: it waits until another process has applied all of them, and returns
// ErrUnmigrated if that does not happen.
func (db *DB) Migrate(ctx context.Context, files fs.FS, dir string) error {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, err)
	}
	opts := []goose.ProviderOption{
		goose.WithTableName("goose_" + db.schema),
		goose.WithDisableGlobalRegistry(true),
		goose.WithAllowOutofOrder(true), // a database may already have a later migration of a neighbouring change
	}
	own, err := migrations(sub, db.dialect)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, err)
	}
	opts = append(opts, goose.WithGoMigrations(own...))
	m := migration{DB: db, own: own, opts: opts}
	work := func() error { return m.exclusive(ctx, func() error { return m.run(ctx) }) }
	if db.cfg.Migrations == MigrateVerify {
		work = func() error { return m.verify(ctx) }
	}
	if err := work(); err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, translate(err))
	}
	return nil
}

// migration takes a database to the newest of our migrations.
type migration struct {
	*DB
	own  []*goose.Migration
	opts []goose.ProviderOption
}

// run applies the pending migrations. No other process migrates the schema meanwhile.
func (m migration) run(ctx context.Context) error {
	applied, err := m.applied(ctx)
	if err == nil {
		err = m.refuseForeign(applied)
	}
	if err != nil {
		return err
	}
	dialect := goose.DialectSQLite3
	if m.dialect == Postgres {
		dialect = goose.DialectPostgres
	}
	provider, err := goose.NewProvider(dialect, m.write, nil, m.opts...)
	if err != nil {
		return err
	}
	made, err := provider.Up(ctx) // the provider is not closed: that would close our pool
	done := Migrated{Schema: m.schema, From: newest(applied), To: newest(applied)}
	for _, r := range made {
		m.log.InfoContext(ctx, "migration applied", "schema", m.schema, "version", r.Source.Version, "took", r.Duration)
		done.Applied, done.To = append(done.Applied, r.Source.Version), max(done.To, r.Source.Version)
	}
	m.migrated.Store(&done)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == notPermitted {
		return fmt.Errorf("%w, and the role may not change them (%w)", m.unmigrated(applied), err)
	}
	if err == nil && m.dialect == SQLite {
		err = m.describe(ctx, len(made) > 0)
	}
	return err
}

// exclusive runs f while no other process migrates the schema. On PostgreSQL the lock is a transaction's, on a connection of its own: a
// pool may have one connection only, and a pooler may give each transaction another session of the server.
func (m migration) exclusive(ctx context.Context, f func() error) (err error) {
	if m.dialect == SQLite {
		if _, err := m.queue.enter(ctx, false); err != nil {
			return err
		}
		defer m.queue.leave()
		return f()
	}
	conn, err := pgx.ConnectConfig(ctx, m.direct)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // its end releases the lock
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"} {
		if _, err := tx.Exec(ctx, "SET LOCAL "+name+" = 0"); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", m.lockID()); err != nil {
		return err
	}
	return f()
}

// applied returns the migrations that the database has, the newest first.
func (m migration) applied(ctx context.Context) ([]int64, error) {
	table := "goose_" + m.schema
	exists := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1)"
	if m.dialect == Postgres {
		exists = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1)"
	}
	if there, err := One(ctx, m.write, Column[bool], exists, table); err != nil || !there {
		return nil, err
	}
	return All(ctx, m.write, Column[int64], "SELECT version_id FROM "+table+" WHERE version_id > 0 ORDER BY version_id DESC")
}

// refuseForeign returns ErrNewer or ErrOlder if one of the applied migrations is not one of ours.
func (m migration) refuseForeign(applied []int64) error {
	last := m.last()
	known := map[int64]bool{}
	for _, own := range m.own {
		known[own.Version] = true
	}
	for _, version := range applied {
		switch {
		case version > last:
			return fmt.Errorf("%w: database %s has migration %d, and this version knows those up to %d", ErrNewer, m.schema, version, last)
		case !known[version]:
			return fmt.Errorf("%w: database %s has migration %d", ErrOlder, m.schema, version)
		}
	}
	return nil
}

// last is the newest of our migrations.
func (m migration) last() int64 {
	last := int64(0)
	for _, own := range m.own {
		last = max(last, own.Version)
	}
	return last
}

// newest returns the first of the migrations, or 0.
func newest(applied []int64) int64 {
	if len(applied) == 0 {
		return 0
	}
	return applied[0]
}

// lockID differs between services, whose migrations are independent.
func (m migration) lockID() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("windlass-migrate-" + m.schema)) // a hash never fails to write
	return int64(h.Sum64() >> 1)
}
