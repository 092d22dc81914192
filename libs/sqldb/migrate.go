package sqldb

import (
	"context"
	"fmt"
	"hash/fnv"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Migrate applies the pending goose migrations (NNN_name.sql) in dir of files, in order. It may run in several processes at once: on
// Postgres one of them works and the others wait. The same files serve both engines; they may contain {{json}} (TEXT or JSONB), {{blob}}
// (BLOB or BYTEA), {{strict}} (" STRICT" or nothing), {{rowless}} (" STRICT, WITHOUT ROWID" or nothing: half the writes for small rows
// found by their key) and {{identity}} (the type of an auto-incrementing integer primary key). Other column types are Postgres's BIGINT,
// BOOLEAN, DOUBLE PRECISION and TEXT in upper case, which are translated for SQLite. A file is run in one transaction, up to
// "-- +goose Down"; other annotations of goose have no effect. If ctx ends, completed migrations stay, and none is half applied.
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
	dialect := goose.DialectSQLite3
	if db.dialect == Postgres {
		dialect = goose.DialectPostgres
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(db.lockID()), lock.WithLockTimeout(1, 300))
		if err != nil {
			return fmt.Errorf("migrate %s: %w", db.schema, err)
		}
		opts = append(opts, goose.WithSessionLocker(locker))
	} else if err := db.enter(ctx); err != nil {
		return err
	} else {
		defer db.leave()
	}
	provider, err := goose.NewProvider(dialect, db.write, nil, opts...)
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, err)
	}
	done, err := provider.Up(ctx) // the provider is not closed: that would close our pool
	for _, r := range done {
		db.log.InfoContext(ctx, "migration applied", "schema", db.schema, "version", r.Source.Version, "took", r.Duration)
	}
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, translate(err))
	}
	if db.dialect == SQLite {
		err = db.describe(ctx, len(done) > 0)
	}
	if err != nil {
		return fmt.Errorf("migrate %s: %w", db.schema, translate(err))
	}
	return nil
}

// lockID differs between services, whose migrations are independent.
func (db *DB) lockID() int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte("windlass-migrate-" + db.schema)) // a hash never fails to write
	return int64(h.Sum64() >> 1)
}
