package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/windlass-dev/windlass/libs/refclock"
)

// postgresConns is the default size of the pool.
const postgresConns = 16

// openPostgres creates the schema and a pool whose connections use only that schema.
func openPostgres(ctx context.Context, cfg Config) (*DB, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL) // its error hides the password
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	pc.MaxConns = postgresConns
	if cfg.MaxConns > 0 {
		pc.MaxConns = int32(cfg.MaxConns)
	}
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.ConnConfig.RuntimeParams["search_path"] = cfg.Schema
	if pc.ConnConfig.RuntimeParams["application_name"] == "" {
		pc.ConnConfig.RuntimeParams["application_name"] = "windlass-" + cfg.Schema
	}
	if pc.ConnConfig.ConnectTimeout == 0 {
		pc.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	for name, limit := range map[string]time.Duration{"statement_timeout": cfg.StatementTimeout, "lock_timeout": cfg.LockTimeout} {
		if limit > 0 { // a pooler may refuse parameters
			pc.ConnConfig.RuntimeParams[name] = strconv.FormatInt(max(limit.Milliseconds(), 1), 10)
		}
	}
	if cfg.Migrations == MigrateVerify {
		err = awaitSchema(ctx, pc.ConnConfig, cfg)
	} else {
		err = createSchema(ctx, pc.ConnConfig, cfg.Schema)
	}
	if err != nil {
		return nil, fmt.Errorf("open database: schema %s: %w", cfg.Schema, translate(err))
	}
	db := &DB{
		dialect: Postgres, schema: cfg.Schema, log: cfg.Log, cfg: cfg, clock: refclock.New(cfg.HostTime), direct: pc.ConnConfig.Copy(),
	}
	session{db}.check(pc)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", translate(err))
	}
	std := stdlib.OpenDBFromPool(pool)
	db.write, db.read = std, std
	db.close = func() error {
		err := std.Close()
		pool.Close()
		return err
	}
	if err := std.PingContext(ctx); err != nil {
		_ = db.Close() // the first error is the one to report
		return nil, fmt.Errorf("open database: %w", translate(err))
	}
	if fsync, err := One(ctx, std, Column[string], "SELECT current_setting('fsync')"); err == nil && fsync == "off" {
		cfg.Log.WarnContext(ctx, "PostgreSQL runs with fsync=off: a power failure may lose what was accepted, or damage the database",
			"schema", cfg.Schema)
	}
	return db, nil
}

// schemaExists asks whether there is a schema.
const schemaExists = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)"

// createSchema creates the schema if it does not exist. IF NOT EXISTS alone fails if two processes run it at once, hence the lock; a role
// without permission to create schemas is fine if the schema exists.
func createSchema(ctx context.Context, cc *pgx.ConnConfig, schema string) error {
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // its work is done by then
	var there bool
	if err := conn.QueryRow(ctx, schemaExists, schema).Scan(&there); err != nil || there {
		return err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('windlass-schema'))"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{schema}.Sanitize())
		return err
	})
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == notPermitted {
		return fmt.Errorf("%w: there is no schema %s, and the role may not create it (%w)", ErrUnmigrated, schema, err)
	}
	return err
}
