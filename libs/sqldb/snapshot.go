package sqldb

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
)

// snapshotStep is how many pages are copied before the context is checked.
const snapshotStep = 1000

// Snapshot copies a SQLite file to a new file as it is at one moment, page by page, while other processes write it. What is committed when
// it begins is in the copy. It does not wait for writers, and holds up none of them; the write-ahead log of the file is kept until it ends.
// When ctx ends it stops, and leaves the new file as it is.
func Snapshot(ctx context.Context, from, to string) (err error) {
	pool, err := sqlitePool(from, 1)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// A read transaction keeps the one snapshot over all steps: without it, they would begin again whenever another process writes.
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	var tables int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	target := (&url.URL{Scheme: "file", OmitHost: true, Path: to}).String()
	if err := conn.Raw(func(c any) error { return copyPages(ctx, c, target) }); err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	return nil
}

// copyPages copies all pages over a connection that is in a transaction.
func copyPages(ctx context.Context, c any, target string) error {
	source, ok := c.(interface {
		NewBackup(target string) (*sqlite.Backup, error)
	})
	if !ok {
		return fmt.Errorf("%T makes no backups", c)
	}
	b, err := source.NewBackup(target)
	if err != nil {
		return err
	}
	for more := true; more && err == nil; {
		if err = ctx.Err(); err == nil {
			more, err = b.Step(snapshotStep)
		}
	}
	return errors.Join(err, b.Finish())
}
