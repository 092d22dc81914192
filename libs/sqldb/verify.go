package sqldb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Values of Config.Migrations.
const (
	// MigrateAuto has Migrate apply what is pending.
	MigrateAuto = "auto"
	// MigrateVerify has Open and Migrate change no schema: another process does, with MigrateAuto.
	MigrateVerify = "verify"
)

// notPermitted is PostgreSQL's code for a statement that the role may not run.
const notPermitted = "42501"

// verifyEvery is the time between two checks of a schema that another process migrates.
const verifyEvery = 250 * time.Millisecond

// Migrated is what Migrate did.
type Migrated struct {
	// Schema is the service's name.
	Schema string `json:"schema"`
	// From and To are the newest migrations before and after it; 0 = none.
	From int64 `json:"from"`
	To   int64 `json:"to"`
	// Applied are those that it applied, in order. Without any it is null in JSON.
	Applied []int64 `json:"applied"`
}

// Migrated returns what the last Migrate of this DB did.
func (db *DB) Migrated() Migrated {
	if done := db.migrated.Load(); done != nil {
		return *done
	}
	return Migrated{Schema: db.schema}
}

// verify waits until the database has all of our migrations.
func (m migration) verify(ctx context.Context) error {
	check := func() error {
		applied, err := m.applied(ctx)
		if err == nil {
			err = m.refuseForeign(applied)
		}
		if err != nil {
			return err
		}
		has := map[int64]bool{}
		for _, version := range applied {
			has[version] = true
		}
		for _, own := range m.own {
			if !has[own.Version] {
				return m.unmigrated(applied)
			}
		}
		m.migrated.Store(&Migrated{Schema: m.schema, From: newest(applied), To: newest(applied)})
		return nil
	}
	if m.dialect == SQLite { // no other process can have the file
		return check()
	}
	return await(ctx, m.cfg, check)
}

// unmigrated returns ErrUnmigrated for a database with some of our migrations.
func (m migration) unmigrated(applied []int64) error {
	return fmt.Errorf("%w: schema %s is at %d, and this version needs %d", ErrUnmigrated, m.schema, newest(applied), m.last())
}

// await repeats check until it returns something else than ErrUnmigrated, or Config.MigrationWait has passed.
func await(ctx context.Context, cfg Config, check func() error) error {
	err := check()
	if !errors.Is(err, ErrUnmigrated) || cfg.MigrationWait <= 0 {
		return err
	}
	cfg.Log.WarnContext(ctx, "waiting for the migration of the database by another process",
		"schema", cfg.Schema, "at_most", cfg.MigrationWait, "reason", err)
	end := time.NewTimer(cfg.MigrationWait)
	defer end.Stop()
	tick := time.NewTicker(verifyEvery)
	defer tick.Stop()
	for errors.Is(err, ErrUnmigrated) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-end.C:
			return err
		case <-tick.C:
			err = check()
		}
	}
	return err
}

// awaitSchema waits until the schema exists.
func awaitSchema(ctx context.Context, cc *pgx.ConnConfig, cfg Config) error {
	conn, err := pgx.ConnectConfig(ctx, cc)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it was only read from
	return await(ctx, cfg, func() error {
		var there bool
		if err := conn.QueryRow(ctx, schemaExists, cfg.Schema).Scan(&there); err != nil || there {
			return err
		}
		return fmt.Errorf("%w: there is no schema %s", ErrUnmigrated, cfg.Schema)
	})
}
