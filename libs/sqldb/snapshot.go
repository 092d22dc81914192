package sqldb

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"modernc.org/sqlite"
)

// Snapshot copies a SQLite file to a new file as it is at one moment, page by page, while other processes write it. What is committed when
// it begins is in the copy. It does not wait for writers, and holds up none of them; the write-ahead log of the file is kept until it ends.
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
	target := (&url.URL{Scheme: "file", OmitHost: true, Path: to}).String()
	if err := conn.Raw(func(c any) error { return copyPages(c, target) }); err != nil {
		return fmt.Errorf("snapshot of %s: %w", from, translate(err))
	}
	return nil
}

// copyPages copies all pages in one step, which reads one snapshot: steps would begin again whenever another process writes.
func copyPages(c any, target string) error {
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
	more, err := b.Step(-1)
	if err == nil && more {
		err = errors.New("pages are left")
	}
	return errors.Join(err, b.Finish())
}
